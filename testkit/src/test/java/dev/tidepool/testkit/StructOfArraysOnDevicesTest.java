package dev.tidepool.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.Allocation;
import dev.tidepool.BufferState;
import dev.tidepool.ElementType;
import dev.tidepool.MemoryLocation;
import dev.tidepool.MemoryOptions;
import dev.tidepool.OutOfDeviceMemoryException;
import dev.tidepool.StructOfArrays;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.spi.Discovery;
import dev.tidepool.spi.HostAccess;
import dev.tidepool.testkit.fault.Failure;
import dev.tidepool.testkit.fault.FaultInjector;
import dev.tidepool.testkit.simulated.SimulatedHardware;
import dev.tidepool.testkit.simulated.SimulatedProvider;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Structs and columns wherever their bytes are. */
@Timeout(60)
class StructOfArraysOnDevicesTest {
  /** Padded in the middle and at the end. */
  public record Sample(short channel, double value, boolean valid) {}

  private static final ElementType<Sample[]> SAMPLES = ElementType.struct(Sample.class);

  /** More than three staging blocks of structs. */
  private static final int COUNT = 10_007;

  private static final MemoryOptions OPTIONS =
      MemoryOptions.builder().stagingChunk(64 << 10).build();

  private static Sample[] samples(int seed) {
    Sample[] samples = new Sample[COUNT];
    Arrays.setAll(samples, i -> new Sample((short) (i + seed), i * 0.25 - seed, i % 7 == seed % 7));
    return samples;
  }

  private static Sample[] contents(StructOfArrays<Sample> columns) {
    Sample[] read = new Sample[COUNT];
    columns.copyTo(read);
    return read;
  }

  @ParameterizedTest
  @EnumSource
  void conversionsReachEveryPairOfPlaces(HostAccess access) {
    SimulatedProvider simulated =
        new SimulatedProvider(
            SimulatedHardware.discrete().withHostAccess(access), SimulatedHardware.discrete());
    try (Tidepool tidepool = Discovery.using(List.of(simulated), () -> Tidepool.open(OPTIONS))) {
      UnifiedMemoryManager first = tidepool.memory(tidepool.accelerator("simulated:0"));
      UnifiedMemoryManager second = tidepool.memory(tidepool.accelerator("simulated:1"));
      int seed = 0;
      for (MemoryLocation where : MemoryLocation.values()) {
        for (MemoryLocation there : MemoryLocation.values()) {
          for (UnifiedMemoryManager other : List.of(first, second)) {
            seed++;
            try (StructOfArrays<Sample> columns =
                    first.allocateStructOfArrays(SAMPLES, COUNT, Allocation.at(where));
                UnifiedBuffer<Sample[]> structs = other.allocate(SAMPLES, COUNT, there)) {
              structs.copyFrom(samples(seed));
              columns.copyFrom(structs);
              assertThat(contents(columns)).isEqualTo(samples(seed));
              structs.fill((byte) 0x55);
              columns.copyTo(structs);
              Sample[] back = new Sample[COUNT];
              structs.copyTo(back);
              assertThat(back).isEqualTo(samples(seed));
              columns.copyFrom(samples(seed + 1));
              assertThat(contents(columns)).isEqualTo(samples(seed + 1));
            }
          }
        }
      }
    }
    assertThat(simulated.violations()).isEmpty();
  }

  @Test
  void conversionsOfDeviceBuffersMakeNoSecondCopy() {
    SimulatedProvider simulated = new SimulatedProvider(SimulatedHardware.discrete());
    try (Tidepool tidepool = Discovery.using(List.of(simulated), () -> Tidepool.open(OPTIONS))) {
      UnifiedMemoryManager memory = tidepool.memory();
      try (StructOfArrays<Sample> columns = memory.allocateStructOfArrays(Sample.class, COUNT);
          UnifiedBuffer<Sample[]> structs = memory.allocate(SAMPLES, COUNT)) {
        structs.copyFrom(samples(1));
        columns.copyFrom(structs);
        columns.copyTo(structs);
        assertThat(structs.state()).isEqualTo(BufferState.DEVICE_ONLY);
        assertThat(columns.component("value", ElementType.DOUBLE).state())
            .isEqualTo(BufferState.DEVICE_ONLY);
        assertThat(contents(columns)).isEqualTo(samples(1));
      }
    }
    assertThat(simulated.violations()).isEmpty();
  }

  @Test
  void aDisturbedConversionIsTriedAgain() {
    FaultInjector faults = new FaultInjector(new SimulatedProvider(SimulatedHardware.discrete()));
    try (Tidepool tidepool = Discovery.using(List.of(faults), () -> Tidepool.open(OPTIONS));
        StructOfArrays<Sample> columns =
            tidepool.memory().allocateStructOfArrays(Sample.class, COUNT)) {
      for (SpiCall call : List.of(SpiCall.WRITE, SpiCall.READ)) {
        columns.copyFrom(samples(4));
        faults.fail(call, 5, Failure.TRANSIENT);
        columns.copyFrom(samples(5));
        assertThat(contents(columns)).isEqualTo(samples(5));
        assertThat(faults.fired()).hasValue(call);
      }
    }
  }

  @Test
  void columnsThatAFullDeviceRefusesLeaveNothingBehind() {
    SimulatedProvider simulated =
        new SimulatedProvider(SimulatedHardware.discrete().withMemory(1 << 20));
    try (Tidepool tidepool = Discovery.using(List.of(simulated), Tidepool::open)) {
      UnifiedMemoryManager memory = tidepool.memory();
      // The shorts fit, the doubles do not.
      assertThatThrownBy(() -> memory.allocateStructOfArrays(Sample.class, 100_000))
          .isInstanceOf(OutOfDeviceMemoryException.class);
      assertThat(memory.buffers()).isEmpty();
      try (StructOfArrays<Sample> columns = memory.allocateStructOfArrays(Sample.class, COUNT)) {
        columns.copyFrom(samples(3));
        assertThat(contents(columns)).isEqualTo(samples(3));
      }
    }
    assertThat(simulated.violations()).isEmpty();
  }
}

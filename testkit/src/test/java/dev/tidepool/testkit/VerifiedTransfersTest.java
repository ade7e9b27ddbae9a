package dev.tidepool.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.ElementType;
import dev.tidepool.MemoryLocation;
import dev.tidepool.MemoryOptions;
import dev.tidepool.Tidepool;
import dev.tidepool.TransferException;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.spi.Discovery;
import dev.tidepool.testkit.fault.Failure;
import dev.tidepool.testkit.fault.FaultInjector;
import dev.tidepool.testkit.simulated.SimulatedHardware;
import dev.tidepool.testkit.simulated.SimulatedProvider;
import dev.tidepool.transfer.Transfer;
import dev.tidepool.transfer.TransferOptions;
import dev.tidepool.transfer.TransferReport;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Verification compares what elements say, not what lies between their components. */
class VerifiedTransfersTest {
  /** Padded in the middle and at the end. */
  public record Sample(short channel, double value, boolean valid) {}

  private static final ElementType<Sample[]> SAMPLES = ElementType.struct(Sample.class);
  private static final int COUNT = 10_007;
  private static final TransferOptions VERIFIED =
      TransferOptions.builder().verified(true).retries(0).build();

  private static Sample[] samples() {
    Sample[] samples = new Sample[COUNT];
    Arrays.setAll(samples, i -> new Sample((short) i, i * 0.25, i % 7 == 0));
    return samples;
  }

  @ParameterizedTest
  @ValueSource(strings = {"cpu:0", "simulated:0"})
  void paddedStructsArriveUndamaged(String accelerator) {
    SimulatedProvider simulated = new SimulatedProvider(SimulatedHardware.discrete());
    // In several pieces each.
    MemoryOptions options = MemoryOptions.builder().stagingChunk(64 << 10).build();
    try (Tidepool tidepool = Discovery.using(List.of(simulated), () -> Tidepool.open(options))) {
      UnifiedMemoryManager memory = tidepool.memory(tidepool.accelerator(accelerator));
      for (MemoryLocation location : List.of(MemoryLocation.DEVICE, MemoryLocation.HOST)) {
        try (UnifiedBuffer<Sample[]> buffer = memory.allocate(SAMPLES, COUNT, location)) {
          buffer.fill((byte) 0x55);
          Sample[] back = new Sample[COUNT];
          memory
              .transfers()
              .transfer(
                  List.of(Transfer.of(samples(), buffer), Transfer.of(buffer, back)), VERIFIED)
              .orThrow();
          assertThat(back).isEqualTo(samples());
        }
      }
    }
  }

  @Test
  void aComponentThatArrivesChangedIsDamage() {
    FaultInjector faults = new FaultInjector(new SimulatedProvider(SimulatedHardware.discrete()));
    try (Tidepool tidepool = Discovery.using(List.of(faults), Tidepool::open);
        UnifiedBuffer<Sample[]> buffer = tidepool.memory().allocate(SAMPLES, 3)) {
      // Of 72 bytes the one in the middle is in the second value.
      faults.fail(SpiCall.WRITE, 1, Failure.DAMAGED);
      TransferReport report =
          tidepool
              .memory()
              .transfers()
              .transfer(List.of(Transfer.of(Arrays.copyOf(samples(), 3), buffer)), VERIFIED);
      assertThat(report.outcomes().getFirst().cause().orElseThrow())
          .isInstanceOf(TransferException.class)
          .hasMessageContaining("arrived damaged");
    }
  }

  @Test
  void eachOfSeveralSmallTransfersIsVerified() {
    FaultInjector faults = new FaultInjector(new SimulatedProvider(SimulatedHardware.discrete()));
    try (Tidepool tidepool = Discovery.using(List.of(faults), Tidepool::open)) {
      UnifiedMemoryManager memory = tidepool.memory();
      List<Transfer<?>> transfers = new ArrayList<>();
      for (int i = 0; i < 10; i++) {
        transfers.add(Transfer.of(new float[100], memory.allocate(ElementType.FLOAT, 100)));
      }
      faults.fail(SpiCall.WRITE, 1, Failure.DAMAGED);
      TransferReport report = memory.transfers().transfer(transfers, VERIFIED);
      assertThat(report.outcomes())
          .filteredOn(outcome -> outcome.cause().isPresent())
          .singleElement()
          .satisfies(
              outcome -> assertThat(outcome.cause().get()).hasMessageContaining("arrived damaged"));
    }
  }
}

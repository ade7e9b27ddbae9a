package dev.tidepool.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.ElementType;
import dev.tidepool.MemoryLocation;
import dev.tidepool.MemoryOptions;
import dev.tidepool.Tidepool;
import dev.tidepool.TidepoolException;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.interop.ArrowC;
import dev.tidepool.interop.ArrowColumn;
import dev.tidepool.interop.ArrowExport;
import dev.tidepool.interop.DLPack;
import dev.tidepool.interop.DLPackExport;
import dev.tidepool.interop.DLPackTensor;
import dev.tidepool.spi.Discovery;
import dev.tidepool.testkit.fault.Failure;
import dev.tidepool.testkit.fault.FaultInjector;
import dev.tidepool.testkit.simulated.SimulatedHardware;
import dev.tidepool.testkit.simulated.SimulatedProvider;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Tensors and columns of a device are exchanged, again and again, each time with the next call of
 * the driver failing: each is released once, and nothing leaks.
 */
@ExtendWith(QuietLog.class)
class ExchangeFaultsTest {
  private static final int LENGTH = 5_000;

  @ParameterizedTest
  @EnumSource(names = "DAMAGED", mode = EnumSource.Mode.EXCLUDE)
  void eachCallInTurnFails(Failure failure) {
    long calls = run(0, failure);
    assertThat(calls).as("calls of the scenario").isGreaterThan(15);
    List<String> broken = new ArrayList<>();
    for (long nth = 1; nth <= calls && broken.size() < 5; nth++) {
      try {
        run(nth, failure);
      } catch (RuntimeException | AssertionError e) {
        broken.add("call %d of %d: %s".formatted(nth, calls, e));
      }
    }
    assertThat(broken).isEmpty();
  }

  /** Runs the scenario with one failing call, or none for 0; returns how many may fail. */
  private static long run(long nth, Failure failure) {
    SimulatedProvider simulated = new SimulatedProvider(SimulatedHardware.discrete());
    FaultInjector faults = new FaultInjector(simulated);
    if (nth > 0) {
      faults.fail(nth, failure);
    }
    try (Tidepool tidepool = Discovery.using(List.of(faults), Tidepool::open)) {
      UnifiedMemoryManager memory = tidepool.memory(tidepool.accelerator("simulated:0"));
      UnifiedMemoryManager consumer =
          UnifiedMemoryManager.create(memory.accelerator(), MemoryOptions.defaults());
      exchange(memory, consumer, nth > 0);
      consumer.close();
      assertThat(consumer.statistics().activeBuffers()).as("buffers").isZero();
      memory.close();
      assertThat(memory.statistics().activeBuffers()).as("buffers").isZero();
    }
    Leftovers.assertNone(simulated);
    return faults.calls();
  }

  private static void exchange(
      UnifiedMemoryManager memory, UnifiedMemoryManager consumer, boolean mayFail) {
    List<DLPackExport> tensors = new ArrayList<>();
    List<ArrowExport> columns = new ArrayList<>();
    try (UnifiedBuffer<float[]> buffer =
        memory.allocate(ElementType.FLOAT, LENGTH, MemoryLocation.DEVICE)) {
      buffer.fill((byte) 0);
      DLPackExport tensor = DLPack.export(buffer);
      tensors.add(tensor);
      try (DLPackTensor opened = DLPack.open(consumer, tensor.handOver())) {
        opened.buffer(ElementType.FLOAT).asSegment().setAtIndex(ValueLayout.JAVA_FLOAT, 3, 3);
      }
      try (ArrowExport column = ArrowC.exportDevice(buffer)) {
        columns.add(column);
        try (ArrowColumn opened = ArrowC.openDevice(consumer, column.array(), column.schema())) {
          opened.buffer(ElementType.FLOAT).fill(new float[] {2});
        }
      }
      float[] values = new float[LENGTH];
      buffer.copyTo(values);
      assertThat(values).containsOnly(2);
    } catch (TidepoolException failed) {
      if (!mayFail) {
        throw failed;
      }
    }
    assertThat(tensors).allMatch(DLPackExport::isReleased);
    assertThat(columns).allMatch(ArrowExport::isReleased);
  }
}

package dev.tidepool.metal;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.Arguments;
import dev.tidepool.ElementType;
import dev.tidepool.Kernel;
import dev.tidepool.KernelSource;
import dev.tidepool.MemoryLocation;
import dev.tidepool.NativeHandle;
import dev.tidepool.Tidepool;
import dev.tidepool.TidepoolException;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.testkit.metal.SimulatedMetal;
import dev.tidepool.transfer.Transfer;
import dev.tidepool.transfer.TransferOptions;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Whatever message fails, and whatever command: it is an error with a name, or none, and no leak.
 */
@ExtendWith(NothingLeaks.class)
@Timeout(300)
class FailingCallsTest {
  private static final int PAGE = 16 << 10;

  /**
   * Two devices, each kind of memory, memory of the caller, copies of each kind, a list of them, a
   * kernel, a slice inside an element.
   */
  private static void work(String storage) {
    try (Tidepool tidepool = Simulation.open(new MetalProvider(), storage)) {
      if (tidepool.accelerators().size() < 3) {
        return;
      }
      UnifiedMemoryManager first = tidepool.memory(tidepool.accelerator("metal:0"));
      UnifiedMemoryManager second = tidepool.memory(tidepool.accelerator("metal:1"));
      Kernel twice = first.compile(KernelSource.elementwise("y = x + x"));
      float[] ones = new float[5000];
      Arrays.fill(ones, 1);
      try (Arena arena = Arena.ofShared();
          UnifiedBuffer<float[]> x = first.copyOf(ones);
          UnifiedBuffer<float[]> y = first.allocate(ElementType.FLOAT, 5000);
          UnifiedBuffer<float[]> far = second.allocate(ElementType.FLOAT, 5000);
          UnifiedBuffer<float[]> pinned =
              first.allocate(ElementType.FLOAT, 5000, MemoryLocation.PINNED);
          UnifiedBuffer<float[]> unified =
              first.allocate(ElementType.FLOAT, 5000, MemoryLocation.UNIFIED);
          UnifiedBuffer<float[]> own =
              first.adopt(
                  ElementType.FLOAT, NativeHandle.of(arena.allocate(2 * PAGE, PAGE)), () -> {});
          UnifiedBuffer<short[]> shorts = first.allocate(ElementType.SHORT, PAGE);
          UnifiedBuffer<byte[]> bytes = first.allocate(ElementType.BYTE, 20_003);
          UnifiedBuffer<byte[]> odd = bytes.slice(3, 20_000);
          UnifiedBuffer<float[]> within = odd.as(ElementType.FLOAT)) {
        twice.execute(Arguments.of("x", x, "y", y));
        twice.execute(Arguments.of("x", y, "y", within));
        far.copyFrom(within);
        unified.fill((byte) 0);
        shorts.fill(new short[] {1, 2});
        own.copyFrom(shorts.as(ElementType.FLOAT));
        twice.execute(Arguments.of("x", own, "y", own));
        pinned.copyFrom(far);
        unified.copyFrom(pinned);
        float[] four = new float[5000];
        unified.copyTo(four);
        assertThat(four).containsOnly(4);
        first.transfers().transfer(intoParts(x, 20), TransferOptions.defaults()).orThrow();
      }
    }
  }

  /** Transfers that are copied together. */
  private static List<Transfer<?>> intoParts(UnifiedBuffer<float[]> buffer, int count) {
    List<Transfer<?>> list = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      list.add(Transfer.of(new float[100], buffer.slice(200L * i, 100)));
    }
    return list;
  }

  @ParameterizedTest
  @ValueSource(strings = {"shared", "private"})
  void everyKindOfMessageFailsAtItsFirstAndALaterTime(String storage) {
    SimulatedMetal simulated = Simulation.with(2);
    work(storage);
    Map<String, Long> calls = simulated.calls();
    List<String> wrong = new ArrayList<>();
    int told = 0;
    calls.put("execute", calls.get("commit"));
    for (Map.Entry<String, Long> call : calls.entrySet()) {
      for (long nth : new TreeSet<>(List.of(1L, (call.getValue() + 1) / 2))) {
        told += withFailure(storage, call.getKey(), nth, wrong) ? 1 : 0;
      }
    }
    assertThat(wrong).isEmpty();
    // Most messages answer nothing that could be missing.
    assertThat(told).isGreaterThan(6);
  }

  private static boolean withFailure(
      String storage, String selector, long nth, List<String> wrong) {
    SimulatedMetal simulated = Simulation.with(2);
    Map<ObjectKind, Long> before = Simulation.liveObjects();
    simulated.fail(selector, nth, CommandErrors.INTERNAL);
    boolean told = false;
    List<Object> findings = new ArrayList<>();
    try {
      work(storage);
    } catch (TidepoolException | UnsupportedOperationException expected) {
      // Unsupported is shared memory that the host does not reach.
      told = true;
    } catch (RuntimeException | AssertionError unexpected) {
      findings.add(unexpected);
    }
    findings.addAll(simulated.violations());
    findings.addAll(simulated.leaks());
    if (!Simulation.liveObjects().equals(before)) {
      findings.add(Simulation.liveObjects() + " live, and before " + before);
    }
    findings.forEach(
        finding -> wrong.add("when number " + nth + " of " + selector + " failed: " + finding));
    simulated.reset(2);
    return told;
  }
}

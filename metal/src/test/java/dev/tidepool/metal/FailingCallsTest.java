package dev.tidepool.metal;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.Arguments;
import dev.tidepool.ElementType;
import dev.tidepool.Kernel;
import dev.tidepool.KernelSource;
import dev.tidepool.MemoryLocation;
import dev.tidepool.Tidepool;
import dev.tidepool.TidepoolException;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.testkit.metal.SimulatedMetal;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Whatever message fails, and whatever command: it is an error with a name, or none, and no leak.
 */
@ExtendWith(NothingLeaks.class)
@Timeout(value = 300, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class FailingCallsTest {
  /** Two devices, each kind of memory, copies of each kind, a kernel, a slice inside an element. */
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
      try (UnifiedBuffer<float[]> x = first.copyOf(ones);
          UnifiedBuffer<float[]> y = first.allocate(ElementType.FLOAT, 5000);
          UnifiedBuffer<float[]> far = second.allocate(ElementType.FLOAT, 5000);
          UnifiedBuffer<float[]> pinned =
              first.allocate(ElementType.FLOAT, 5000, MemoryLocation.PINNED);
          UnifiedBuffer<float[]> unified =
              first.allocate(ElementType.FLOAT, 5000, MemoryLocation.UNIFIED);
          UnifiedBuffer<byte[]> bytes = first.allocate(ElementType.BYTE, 20_003);
          UnifiedBuffer<byte[]> odd = bytes.slice(3, 20_000);
          UnifiedBuffer<float[]> within = odd.as(ElementType.FLOAT)) {
        twice.execute(Arguments.of("x", x, "y", y));
        twice.execute(Arguments.of("x", y, "y", within));
        far.copyFrom(within);
        unified.fill((byte) 0);
        pinned.copyFrom(far);
        unified.copyFrom(pinned);
        float[] four = new float[5000];
        unified.copyTo(four);
        assertThat(four).containsOnly(4);
      }
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"shared", "private"})
  void everyKindOfMessageFailsAtItsFirstAndALaterTime(String storage) {
    SimulatedMetal simulated = Simulation.with(2);
    work(storage);
    Map<String, Long> calls = simulated.calls();
    List<String> wrong = new ArrayList<>();
    int told = 0;
    for (String selector :
        List.of(
            "newBufferWithLength:options:",
            "newCommandQueueWithMaxCommandBufferCount:",
            "newSharedEvent",
            "newLibraryWithSource:options:error:",
            "newFunctionWithName:",
            "newComputePipelineStateWithFunction:options:reflection:error:",
            "commandBuffer",
            "blitCommandEncoder",
            "computeCommandEncoder",
            "execute")) {
      long all =
          selector.equals("execute") ? calls.get("commit") : calls.getOrDefault(selector, 0L);
      for (long nth = 1; nth <= all; nth += Math.max(1, all / 2)) {
        told += withFailure(storage, selector, nth, wrong) ? 1 : 0;
      }
    }
    assertThat(wrong).isEmpty();
    assertThat(told).isGreaterThan(8);
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
    } catch (TidepoolException expected) {
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

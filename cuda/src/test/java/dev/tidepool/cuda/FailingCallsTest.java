package dev.tidepool.cuda;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.Allocation;
import dev.tidepool.Arguments;
import dev.tidepool.ElementType;
import dev.tidepool.Kernel;
import dev.tidepool.KernelSource;
import dev.tidepool.MemoryLocation;
import dev.tidepool.Tidepool;
import dev.tidepool.TidepoolException;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.testkit.cuda.SimulatedCuda;
import dev.tidepool.transfer.Transfer;
import dev.tidepool.transfer.TransferOptions;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Whatever call of the driver fails, once: it is an error with a name, or none, and no leak. */
class FailingCallsTest {
  // What giving back takes: when that fails, the driver has something still, and says so. With a
  // command that fails in execution the device is lost, and all that it has.
  private static final Set<String> GIVING_BACK =
      Set.of(
          "execute",
          "cuCtxPopCurrent_v2",
          "cuCtxPushCurrent_v2",
          "cuDevicePrimaryCtxRelease_v2",
          "cuEventDestroy_v2",
          "cuMemAddressFree",
          "cuMemFreeAsync",
          "cuMemFreeHost",
          "cuMemFree_v2",
          "cuMemHostUnregister",
          "cuMemPoolDestroy",
          "cuModuleUnload",
          "cuStreamDestroy_v2");

  /** Nothing can be given back in a context that does not become current. */
  private static final String ENTERING = "cuCtxPushCurrent_v2";

  /** Two devices, each kind of memory, copies of each kind, a kernel, a slice inside an element. */
  private static void work() {
    try (Tidepool tidepool = Simulation.open(new CudaProvider())) {
      if (tidepool.accelerators().size() < 3) {
        return;
      }
      UnifiedMemoryManager first = tidepool.memory(tidepool.accelerator("cuda:0"));
      UnifiedMemoryManager second = tidepool.memory(tidepool.accelerator("cuda:1"));
      Kernel twice = first.compile(KernelSource.elementwise("y = x + x"));
      float[] ones = new float[5000];
      java.util.Arrays.fill(ones, 1);
      try (Arena arena = Arena.ofShared();
          UnifiedBuffer<float[]> own =
              first.wrap(ElementType.FLOAT, arena.allocate(20_000, 64), MemoryLocation.PINNED);
          UnifiedBuffer<short[]> shorts = first.allocate(ElementType.SHORT, 10_000);
          UnifiedBuffer<float[]> x = first.copyOf(ones);
          UnifiedBuffer<float[]> y = first.allocate(ElementType.FLOAT, 5000);
          UnifiedBuffer<float[]> far = second.allocate(ElementType.FLOAT, 5000);
          UnifiedBuffer<float[]> pinned =
              first.allocate(ElementType.FLOAT, 5000, MemoryLocation.PINNED);
          UnifiedBuffer<float[]> unified =
              first.allocate(
                  ElementType.FLOAT, 5000, Allocation.at(MemoryLocation.UNIFIED).mostlyDevice());
          UnifiedBuffer<byte[]> bytes = first.allocate(ElementType.BYTE, 20_003);
          UnifiedBuffer<byte[]> odd = bytes.slice(3, 20_000);
          UnifiedBuffer<float[]> within = odd.as(ElementType.FLOAT)) {
        twice.execute(Arguments.of("x", x, "y", y));
        twice.execute(Arguments.of("x", y, "y", within));
        far.copyFrom(within);
        unified.fill((byte) 0);
        shorts.fill(new short[] {1});
        shorts.fill(new short[] {1, 2});
        own.copyFrom(shorts.as(ElementType.FLOAT));
        unified.prefetchToDevice();
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
  @ValueSource(strings = {"auto", "always"})
  void everyFunctionFailsOnceAtItsFirstCallAndAtALaterOne(String batches) {
    Simulation.under(
        Map.of("tidepool.cuda.batches", batches),
        () -> {
          sweep(batches.equals("always") ? "batched_copy" : "cuLaunchKernel");
          return null;
        });
  }

  /** Fails every function once; {@code copies} is how a list of transfers is copied. */
  private static void sweep(String copies) {
    SimulatedCuda simulated = Simulation.with(2);
    work();
    Map<String, Long> calls = simulated.calls();
    assertThat(calls).hasSizeGreaterThan(35).containsKey(copies);
    List<String> wrong = new ArrayList<>();
    int told = 0;
    for (Map.Entry<String, Long> call : calls.entrySet()) {
      for (long nth : new TreeSet<>(List.of(1L, (call.getValue() + 1) / 2))) {
        told += withFailure(call.getKey(), nth, wrong) ? 1 : 0;
      }
    }
    assertThat(wrong).isEmpty();
    // Most failures have to be told; frees and the like are only logged.
    assertThat(told).isGreaterThan(20);
  }

  private static boolean withFailure(String function, long nth, List<String> wrong) {
    SimulatedCuda simulated = Simulation.with(2);
    Map<ObjectKind, Long> before = Simulation.liveObjects();
    // CUDA_ERROR_UNKNOWN
    simulated.fail(function, nth, 999);
    boolean told = false;
    List<Object> findings = new ArrayList<>();
    try {
      work();
    } catch (TidepoolException expected) {
      told = true;
    } catch (RuntimeException | AssertionError unexpected) {
      findings.add(unexpected);
    }
    if (!GIVING_BACK.contains(function)) {
      findings.addAll(simulated.violations());
      findings.addAll(simulated.leaks());
    }
    if (!function.equals(ENTERING) && !Simulation.liveObjects().equals(before)) {
      findings.add(Simulation.liveObjects() + " live, and before " + before);
    }
    findings.forEach(
        finding -> wrong.add("when call " + nth + " of " + function + " failed: " + finding));
    simulated.reset(2);
    return told;
  }
}

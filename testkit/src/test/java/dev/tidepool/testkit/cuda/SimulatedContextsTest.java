package dev.tidepool.testkit.cuda;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class SimulatedContextsTest {
  private final SimulatedCuda simulation = SimulatedCuda.orSkip();
  private Driver cuda;

  @BeforeEach
  void twoDevices() {
    cuda = Driver.with(simulation, 2);
  }

  @Test
  void whereTheToolkitHasTheDriversHeaderNoSignatureDiffersFromIt() throws IOException {
    int newest = 0;
    for (String home : new String[] {System.getenv("CUDA_HOME"), "/usr/local/cuda"}) {
      Path header = Path.of(home == null ? "" : home, "include", "cuda.h");
      if (newest == 0 && Files.exists(header)) {
        newest =
            Files.readAllLines(header, StandardCharsets.ISO_8859_1).stream()
                .map(Pattern.compile("#define CUDA_VERSION (\\d+)")::matcher)
                .filter(Matcher::lookingAt)
                .mapToInt(version -> Integer.parseInt(version.group(1)))
                .findFirst()
                .orElse(0);
      }
    }
    assumeThat(newest).as("the version of the toolkit's cuda.h").isGreaterThanOrEqualTo(12_020);
    // A definition that differs from its declaration there does not compile.
    assertThat(simulation.header()).isEqualTo(newest);
  }

  @Test
  void nothingWorksBeforeInit() {
    simulation.reset(1);
    assertThat(cuda.tryGet("cuDeviceGetCount")).isEqualTo(Driver.NOT_INITIALIZED);
    assertThat(cuda.get("cuDriverGetVersion")).isEqualTo(13000);
    cuda.must("cuInit", 0);
    assertThat(cuda.get("cuDeviceGetCount")).isEqualTo(1);
    simulation.reset(0);
    assertThat(cuda.call("cuInit", 0)).isEqualTo(100); // no device
  }

  @Test
  void aThreadWithoutAContextCannotDoAnything() throws InterruptedException {
    AtomicInteger code = new AtomicInteger();
    Thread.ofPlatform().start(() -> code.set(cuda.tryGet("cuMemAlloc_v2", 16L))).join();
    assertThat(code).hasValue(Driver.INVALID_CONTEXT);
  }

  @Test
  void contextsAreStackedByThread() {
    long first = cuda.get("cuCtxGetCurrent");
    long second = cuda.retain(1);
    cuda.must("cuCtxPushCurrent_v2", second);
    assertThat(cuda.get("cuCtxGetCurrent")).isEqualTo(second);
    assertThat(cuda.get("cuCtxPopCurrent_v2")).isEqualTo(second);
    assertThat(cuda.get("cuCtxGetCurrent")).isEqualTo(first);
    cuda.must("cuCtxSetCurrent", 0L);
    assertThat(cuda.get("cuCtxGetCurrent")).isZero();
    assertThat(cuda.tryGet("cuCtxPopCurrent_v2")).isEqualTo(Driver.INVALID_CONTEXT);
    assertThat(cuda.call("cuCtxSetCurrent", 0x1234L)).isEqualTo(Driver.INVALID_CONTEXT);
  }

  @Test
  void aPrimaryContextLivesUntilItsLastRelease() {
    cuda.retain(0);
    cuda.must("cuDevicePrimaryCtxRelease_v2", 0);
    cuda.must("cuMemFree_v2", cuda.allocate(1));
    cuda.must("cuDevicePrimaryCtxRelease_v2", 0);
    assertThat(cuda.tryGet("cuMemAlloc_v2", 1L)).isEqualTo(Driver.CONTEXT_IS_DESTROYED);
    assertThat(cuda.call("cuDevicePrimaryCtxRelease_v2", 0)).isEqualTo(Driver.INVALID_CONTEXT);
    assertThat(simulation.violations()).hasSize(2);
  }

  @Test
  void anEventBelongsToItsContext() {
    cuda.must("cuCtxSetCurrent", cuda.retain(1));
    long stream = cuda.stream();
    cuda.must("cuCtxSetCurrent", cuda.retain(0));
    long event = cuda.event();
    assertThat(cuda.call("cuEventRecord", event, stream)).isEqualTo(Driver.INVALID_HANDLE);
    long own = cuda.stream();
    cuda.must("cuEventRecord", event, own);
    cuda.must("cuStreamWaitEvent", stream, event, 0); // waiting is for all
    cuda.synchronize(stream);
    assertThat(simulation.violations())
        .singleElement()
        .asString()
        .contains("device 0 on a stream of device 1");
  }

  @Test
  void devicesTellWhatTheyAre() {
    try (Arena arena = Arena.ofConfined()) {
      simulation.set(1, "compute_capability", 90);
      simulation.set(1, "attribute.89", 0);
      MemorySegment text = arena.allocate(64);
      cuda.must("cuDeviceGetName", text, 64, 1);
      assertThat(text.getString(0)).isEqualTo("Simulated GPU 1");
      cuda.must("cuDeviceGetPCIBusId", text, 64, 1);
      assertThat(text.getString(0)).isEqualTo("0000:02:00.0");
      cuda.must("cuDeviceGetUuid_v2", text, 1);
      assertThat(text.get(ValueLayout.JAVA_BYTE, 15)).isEqualTo((byte) 1);
      assertThat(cuda.get("cuDeviceTotalMem_v2", 1)).isEqualTo(1L << 30);
      assertThat(cuda.get("cuDeviceGetAttribute", 75, 1)).isEqualTo(9);
      assertThat(cuda.get("cuDeviceGetAttribute", 76, 1)).isZero();
      assertThat(cuda.get("cuDeviceGetAttribute", 89, 1)).isZero();
      assertThat(cuda.get("cuDeviceGetAttribute", 89, 0)).isEqualTo(1);
      assertThat(cuda.tryGet("cuDeviceGet", 2)).isEqualTo(101); // invalid device
      MemorySegment name = arena.allocate(ValueLayout.ADDRESS);
      cuda.must("cuGetErrorName", 2, name);
      assertThat(name.get(ValueLayout.ADDRESS, 0).reinterpret(64).getString(0))
          .isEqualTo("CUDA_ERROR_OUT_OF_MEMORY");
      cuda.must("cuGetErrorString", 700, name);
      assertThat(name.get(ValueLayout.ADDRESS, 0).reinterpret(64).getString(0))
          .isEqualTo("illegal address");
      assertThat(cuda.call("cuGetErrorName", 12345, name)).isEqualTo(Driver.INVALID_VALUE);
    }
  }

  @Test
  void aTakenOrProhibitedDeviceGivesNoContext() {
    simulation.reset(2);
    cuda.must("cuInit", 0);
    simulation.set(0, "attribute.20", 3); // exclusive process
    cuda.retain(0);
    simulation.set(0, "taken", 1);
    assertThat(cuda.tryGet("cuDevicePrimaryCtxRetain", 0)).isEqualTo(Driver.DEVICE_UNAVAILABLE);
    simulation.set(1, "attribute.20", 2);
    assertThat(cuda.tryGet("cuDevicePrimaryCtxRetain", 1)).isEqualTo(Driver.DEVICE_UNAVAILABLE);
  }

  @Test
  void theNthCallOfAFunctionFailsAsAsked() {
    simulation.fail("cuMemAlloc_v2", 2, Driver.OUT_OF_MEMORY);
    long before = simulation.calls("cuMemAlloc_v2");
    cuda.allocate(8);
    assertThat(cuda.tryGet("cuMemAlloc_v2", 8L)).isEqualTo(Driver.OUT_OF_MEMORY);
    cuda.allocate(8);
    assertThat(simulation.calls("cuMemAlloc_v2")).isEqualTo(before + 3);
    assertThat(simulation.calls()).containsEntry("cuInit", 1L);
    simulation.fail("cuMemAlloc_v2", 1, 999, -1);
    assertThat(cuda.tryGet("cuMemAlloc_v2", 8L)).isEqualTo(999);
    assertThat(cuda.tryGet("cuMemAlloc_v2", 8L)).isEqualTo(999);
    simulation.forget();
    cuda.allocate(8);
  }

  @Test
  void aLostDeviceAnswersEveryCallWithTheSameError() {
    long stream = cuda.stream();
    long memory = cuda.allocate(8);
    long event = cuda.event();
    simulation.fail("execute", 1, Driver.ILLEGAL_ADDRESS);
    cuda.must("cuMemsetD8Async", memory, (byte) 1, 8L, stream);
    assertThat(cuda.call("cuStreamSynchronize", stream)).isEqualTo(Driver.ILLEGAL_ADDRESS);
    assertThat(cuda.call("cuEventRecord", event, stream)).isEqualTo(Driver.ILLEGAL_ADDRESS);
    assertThat(cuda.call("cuMemFree_v2", memory)).isEqualTo(Driver.ILLEGAL_ADDRESS);
    assertThat(cuda.tryGet("cuMemAlloc_v2", 8L)).isEqualTo(Driver.ILLEGAL_ADDRESS);
    cuda.must("cuCtxSetCurrent", cuda.retain(1)); // the other one works
    cuda.must("cuMemFree_v2", cuda.allocate(8));
  }

  @Test
  void peersAreEnabledOnceAndOnlyWhereTheyCanReachEachOther() {
    long other = cuda.retain(1);
    assertThat(cuda.get("cuDeviceCanAccessPeer", 0, 1)).isEqualTo(1);
    assertThat(cuda.call("cuCtxDisablePeerAccess", other))
        .isEqualTo(Driver.PEER_ACCESS_NOT_ENABLED);
    cuda.must("cuCtxEnablePeerAccess", other, 0);
    assertThat(cuda.call("cuCtxEnablePeerAccess", other, 0))
        .isEqualTo(Driver.PEER_ACCESS_ALREADY_ENABLED);
    cuda.must("cuCtxDisablePeerAccess", other);
    simulation.setPeer(0, 1, false);
    assertThat(cuda.get("cuDeviceCanAccessPeer", 0, 1)).isZero();
    assertThat(cuda.call("cuCtxEnablePeerAccess", other, 0))
        .isEqualTo(Driver.PEER_ACCESS_UNSUPPORTED);
  }

  @Test
  void bytesGoFromDeviceToDevice() {
    long first = cuda.get("cuCtxGetCurrent");
    long second = cuda.retain(1);
    long source = cuda.allocate(1000);
    cuda.write(source, Driver.pattern(1000));
    cuda.must("cuCtxSetCurrent", second);
    long target = cuda.allocate(1000);
    long stream = cuda.stream();
    cuda.must("cuMemcpyPeerAsync", target, second, source, first, 1000L, stream);
    cuda.synchronize(stream);
    assertThat(cuda.read(target, 1000)).isEqualTo(Driver.pattern(1000));
    assertThat(cuda.call("cuMemcpyPeerAsync", target, first, source, first, 1000L, stream))
        .isEqualTo(Driver.INVALID_CONTEXT);
    assertThat(simulation.violations()).hasSize(1);
  }

  @Test
  void aContextOfTheProgramsOwnHasItsMemoryAndStreams() {
    long primary = cuda.get("cuCtxGetCurrent");
    long own = cuda.get("cuCtxCreate_v2", 0, 1);
    assertThat(cuda.get("cuCtxGetCurrent")).isEqualTo(own).isNotEqualTo(primary);
    assertThat(cuda.get("cuCtxGetDevice")).isEqualTo(1);
    long stream = cuda.stream();
    assertThat(contextOf(stream)).isEqualTo(own);
    long memory = cuda.allocate(64);
    assertThat(cuda.get("cuPointerGetAttribute", 1, memory)).isEqualTo(own);
    cuda.must("cuMemsetD8Async", memory, (byte) 3, 64L, stream);
    cuda.synchronize(stream);
    assertThat(cuda.read(memory, 64)).containsOnly(3);
    cuda.must("cuMemFree_v2", memory);
    cuda.must("cuStreamDestroy_v2", stream);
    assertThat(simulation.leaks()).anyMatch(leak -> leak.startsWith("context"));
    cuda.must("cuCtxDestroy_v2", own);
    assertThat(cuda.get("cuCtxGetCurrent")).isEqualTo(primary);
    assertThat(cuda.call("cuCtxPushCurrent_v2", own)).isEqualTo(Driver.INVALID_CONTEXT);
    assertThat(simulation.violations()).isEmpty();
  }

  private long contextOf(long stream) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment context = arena.allocate(ValueLayout.JAVA_LONG);
      cuda.must("cuStreamGetCtx", stream, context);
      return context.get(ValueLayout.JAVA_LONG, 0);
    }
  }

  @Test
  void whatIsLeftInADestroyedContextIsAViolation() {
    long own = cuda.get("cuCtxCreate_v2", 0, 0);
    cuda.stream();
    cuda.allocate(64);
    cuda.must("cuCtxDestroy_v2", own);
    assertThat(simulation.violations()).hasSize(2).allMatch(v -> v.contains("still there"));
    assertThat(cuda.call("cuCtxDestroy_v2", own)).isEqualTo(Driver.INVALID_CONTEXT);
  }
}

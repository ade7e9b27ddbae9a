package dev.tidepool.testkit.cuda;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class SimulatedPoolsTest {
  private static final int RELEASE_THRESHOLD = 4;
  private static final int RESERVED = 5;
  private static final int USED = 7;
  private static final int USED_HIGH = 8;

  private final SimulatedCuda simulation = SimulatedCuda.orSkip();
  private Driver cuda;
  private long pool;
  private long stream;

  @BeforeEach
  void oneDevice() {
    cuda = Driver.with(simulation, 2);
    pool = cuda.get("cuDeviceGetDefaultMemPool", 0);
    stream = cuda.stream();
  }

  private long attribute(int attribute) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment value = arena.allocate(ValueLayout.JAVA_LONG);
      cuda.must("cuMemPoolGetAttribute", pool, attribute, value);
      return value.get(ValueLayout.JAVA_LONG, 0);
    }
  }

  private void setThreshold(long bytes) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment value = arena.allocateFrom(ValueLayout.JAVA_LONG, bytes);
      cuda.must("cuMemPoolSetAttribute", pool, RELEASE_THRESHOLD, value);
    }
  }

  @Test
  void aPoolKeepsMemoryUpToItsThresholdAtASynchronization() {
    long memory = cuda.get("cuMemAllocAsync", 1L << 20, stream);
    cuda.must("cuMemFreeAsync", memory, stream);
    cuda.synchronize(stream);
    assertThat(attribute(RESERVED)).isZero();
    setThreshold(Long.MAX_VALUE);
    memory = cuda.get("cuMemAllocAsync", 1L << 20, stream);
    assertThat(attribute(USED)).isEqualTo(1L << 20);
    cuda.must("cuMemFreeAsync", memory, stream);
    cuda.synchronize(stream);
    assertThat(attribute(USED)).isZero();
    assertThat(attribute(USED_HIGH)).isEqualTo(1L << 20);
    assertThat(attribute(RESERVED)).isEqualTo(1L << 20);
    assertThat(cuda.get("cuMemAllocAsync", 1L << 20, stream)).isEqualTo(memory);
    cuda.must("cuMemFree_v2", memory); // legal too
    cuda.must("cuMemPoolTrimTo", pool, 0L);
    assertThat(attribute(RESERVED)).isZero();
    assertThat(simulation.violations()).isEmpty();
  }

  @Test
  void aStreamReusesWhatItFreesBeforeThatIsReached() {
    long memory = cuda.get("cuMemAllocAsync", 4096L, stream);
    Gate gate = Gate.closed(cuda, stream);
    cuda.must("cuMemsetD8Async", memory, (byte) 1, 4096L, stream);
    cuda.must("cuMemFreeAsync", memory, stream);
    assertThat(cuda.get("cuMemAllocAsync", 4096L, cuda.stream())).isNotEqualTo(memory);
    assertThat(cuda.get("cuMemAllocAsync", 4096L, stream)).isEqualTo(memory);
    gate.open();
    cuda.synchronize(stream);
    assertThat(simulation.violations()).isEmpty();
  }

  @Test
  void memoryFreedOnOneStreamWhileAnotherUsesItIsFoundOut() {
    long other = cuda.stream();
    long memory = cuda.get("cuMemAllocAsync", 4096L, stream);
    cuda.synchronize(stream);
    Gate gate = Gate.closed(cuda, other);
    cuda.must("cuMemsetD8Async", memory, (byte) 1, 4096L, other);
    cuda.must("cuMemFreeAsync", memory, stream);
    cuda.synchronize(stream);
    gate.open();
    cuda.must("cuCtxSynchronize");
    assertThat(simulation.violations())
        .singleElement()
        .asString()
        .contains("of other streams still use it");
  }

  @Test
  void anEventOrdersTheFreeAfterTheOtherStreamsUse() {
    simulation.set(0, "latency_ns", 5_000_000);
    long other = cuda.stream();
    long event = cuda.event();
    long memory = cuda.get("cuMemAllocAsync", 4096L, stream);
    cuda.must("cuEventRecord", event, stream);
    cuda.must("cuStreamWaitEvent", other, event, 0);
    cuda.must("cuMemsetD8Async", memory, (byte) 1, 4096L, other);
    long done = cuda.event();
    cuda.must("cuEventRecord", done, other);
    cuda.must("cuStreamWaitEvent", stream, done, 0);
    cuda.must("cuMemFreeAsync", memory, stream);
    cuda.must("cuCtxSynchronize");
    assertThat(simulation.violations()).isEmpty();
  }

  @Test
  void anotherStreamMustWaitForTheAllocation() {
    Gate gate = Gate.closed(cuda, stream);
    long memory = cuda.get("cuMemAllocAsync", 4096L, stream);
    long other = cuda.stream();
    cuda.must("cuMemsetD8Async", memory, (byte) 1, 4096L, other);
    cuda.synchronize(other);
    gate.open();
    cuda.must("cuCtxSynchronize");
    assertThat(simulation.violations())
        .singleElement()
        .asString()
        .contains("before the stream that allocates it");
  }

  @Test
  void aFullDeviceGivesBackWhatItsPoolKeepsBeforeItRefuses() {
    simulation.set(0, "memory", 1L << 20);
    setThreshold(Long.MAX_VALUE);
    long memory = cuda.get("cuMemAllocAsync", 3L << 18, stream);
    cuda.must("cuMemFreeAsync", memory, stream);
    cuda.synchronize(stream);
    assertThat(cuda.tryGet("cuMemAlloc_v2", 1L << 19)).isEqualTo(Driver.OUT_OF_MEMORY);
    memory = cuda.get("cuMemAllocAsync", 1L << 20, stream);
    assertThat(cuda.tryGet("cuMemAllocAsync", 4096L, stream)).isEqualTo(Driver.OUT_OF_MEMORY);
    cuda.must("cuMemFreeAsync", memory, stream);
    assertThat(cuda.call("cuMemFreeAsync", memory, stream)).isEqualTo(Driver.INVALID_VALUE);
    assertThat(simulation.violations())
        .singleElement()
        .asString()
        .contains("freed by cuMemFreeAsync");
  }

  @Test
  void onesOwnPoolsHaveAMaximumAndEnd() {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment properties = arena.allocate(88, 8);
      properties.set(ValueLayout.JAVA_INT, 0, 1); // pinned
      properties.set(ValueLayout.JAVA_INT, 8, 1); // on a device
      properties.set(ValueLayout.JAVA_INT, 12, 1); // the second one
      properties.set(ValueLayout.JAVA_LONG, 24, 8192);
      long own = cuda.get("cuMemPoolCreate", properties);
      long memory = cuda.get("cuMemAllocFromPoolAsync", 8192L, own, stream);
      assertThat(cuda.tryGet("cuMemAllocFromPoolAsync", 1L, own, stream))
          .isEqualTo(Driver.OUT_OF_MEMORY);
      MemorySegment access = arena.allocate(12, 4);
      access.set(ValueLayout.JAVA_INT, 0, 1);
      access.set(ValueLayout.JAVA_INT, 4, 0);
      access.set(ValueLayout.JAVA_INT, 8, 3);
      cuda.must("cuMemPoolSetAccess", own, access, 1L);
      cuda.must("cuMemPoolDestroy", own);
      cuda.must("cuMemFreeAsync", memory, stream);
      cuda.synchronize(stream);
      assertThat(cuda.call("cuMemPoolTrimTo", own, 0L)).isEqualTo(Driver.INVALID_VALUE);
      assertThat(cuda.call("cuMemPoolDestroy", pool)).isEqualTo(Driver.INVALID_VALUE);
      assertThat(simulation.violations()).hasSize(1);
    }
  }

  @Test
  void aDeviceMayHaveNoPools() {
    simulation.set(0, "attribute.115", 0);
    assertThat(cuda.tryGet("cuMemAllocAsync", 4096L, stream)).isEqualTo(Driver.NOT_SUPPORTED);
    assertThat(cuda.tryGet("cuDeviceGetDefaultMemPool", 0)).isEqualTo(Driver.NOT_SUPPORTED);
  }

  @Test
  void allocationsWithoutAPoolComeFromTheCurrentOne() {
    assertThat(cuda.get("cuDeviceGetMemPool", 0)).isEqualTo(pool);
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment properties = arena.allocate(88, 8);
      properties.set(ValueLayout.JAVA_INT, 0, 1); // pinned
      properties.set(ValueLayout.JAVA_INT, 8, 1); // on a device
      long own = cuda.get("cuMemPoolCreate", properties);
      assertThat(cuda.call("cuDeviceSetMemPool", 1, own)).isEqualTo(101); // of another device
      cuda.must("cuDeviceSetMemPool", 0, own);
      assertThat(cuda.get("cuDeviceGetMemPool", 0)).isEqualTo(own);
      long memory = cuda.get("cuMemAllocAsync", 1L << 20, stream);
      assertThat(attribute(USED)).as("of the default pool").isZero();
      cuda.must("cuMemFreeAsync", memory, stream);
      cuda.synchronize(stream);
      cuda.must("cuMemPoolDestroy", own);
      assertThat(cuda.get("cuDeviceGetMemPool", 0)).isEqualTo(pool);
    }
    assertThat(simulation.violations()).isEmpty();
  }
}

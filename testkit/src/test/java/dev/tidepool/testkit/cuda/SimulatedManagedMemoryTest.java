package dev.tidepool.testkit.cuda;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.Arena;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class SimulatedManagedMemoryTest {
  private static final int READ_MOSTLY = 1;
  private static final int PREFERRED_LOCATION = 2;
  private static final int ACCESSED_BY = 3;
  private static final int LAST_PREFETCH_LOCATION = 4;
  private static final int HOST = -1;
  private static final int NOWHERE = -2;

  private final SimulatedCuda simulation = SimulatedCuda.orSkip();
  private Driver cuda;

  @BeforeEach
  void twoDevices() {
    cuda = Driver.with(simulation, 2);
  }

  private int[] attribute(int attribute, long address, long bytes, int values) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment value = arena.allocate(ValueLayout.JAVA_INT, values);
      cuda.must("cuMemRangeGetAttribute", value, 4L * values, attribute, address, bytes);
      return value.toArray(ValueLayout.JAVA_INT);
    }
  }

  private static Driver.ByValue location(Arena arena, int type, int id) {
    MemorySegment value = arena.allocateFrom(ValueLayout.JAVA_INT, type, id);
    return new Driver.ByValue(
        MemoryLayout.structLayout(
            ValueLayout.JAVA_INT.withName("type"), ValueLayout.JAVA_INT.withName("id")),
        value);
  }

  @Test
  void hostAndDeviceSeeTheSameBytesAtOneAddress() {
    long memory = cuda.get("cuMemAllocManaged", 10_000L, 1);
    MemorySegment host = MemorySegment.ofAddress(memory).reinterpret(10_000);
    long stream = cuda.stream();
    cuda.must("cuMemsetD8Async", memory, (byte) 7, 10_000L, stream);
    cuda.synchronize(stream);
    assertThat(host.get(ValueLayout.JAVA_BYTE, 9_999)).isEqualTo((byte) 7);
    host.set(ValueLayout.JAVA_BYTE, 0, (byte) 9);
    assertThat(cuda.read(memory, 2)).containsExactly(9, 7);
    cuda.must("cuMemFree_v2", memory);
    assertThat(simulation.violations()).isEmpty();
    assertThat(simulation.notes()).isEmpty();
  }

  @Test
  void adviceIsKeptForTheRangeItWasGivenFor() {
    try (Arena arena = Arena.ofConfined()) {
      long memory = cuda.get("cuMemAllocManaged", 4L * 4096, 1);
      cuda.must("cuMemAdvise", memory + 4096, 8192L, 1, 0);
      cuda.must("cuMemAdvise", memory, 4L * 4096, 3, HOST);
      cuda.must("cuMemAdvise_v2", memory, 4096L, 3, location(arena, 1, 1));
      cuda.must("cuMemAdvise", memory, 8192L, 5, 1);
      cuda.must("cuMemAdvise", memory, 4L * 4096, 5, 0);
      assertThat(attribute(READ_MOSTLY, memory + 4096, 8192, 1)).containsExactly(1);
      assertThat(attribute(READ_MOSTLY, memory, 8192, 1)).containsExactly(0);
      assertThat(attribute(PREFERRED_LOCATION, memory + 4096, 4096, 1)).containsExactly(HOST);
      assertThat(attribute(PREFERRED_LOCATION, memory, 1, 1)).containsExactly(1);
      assertThat(attribute(PREFERRED_LOCATION, memory, 8192, 1)).containsExactly(NOWHERE);
      assertThat(attribute(ACCESSED_BY, memory, 8192, 3)).containsExactly(0, 1, NOWHERE);
      assertThat(attribute(ACCESSED_BY, memory, 3 * 4096, 2)).containsExactly(0, NOWHERE);
      cuda.must("cuMemAdvise", memory + 4096, 8192L, 2, 0);
      assertThat(attribute(READ_MOSTLY, memory + 4096, 8192, 1)).containsExactly(0);
    }
  }

  @Test
  void prefetchesAreKeptAndTakeTheLinksTime() {
    try (Arena arena = Arena.ofConfined()) {
      simulation.set(0, "host_to_device", 1_000_000_000);
      long memory = cuda.get("cuMemAllocManaged", 4L << 20, 1);
      long stream = cuda.stream();
      long begin = System.nanoTime();
      cuda.must("cuMemPrefetchAsync", memory, 4L << 20, 0, stream);
      cuda.synchronize(stream);
      assertThat(System.nanoTime() - begin).isGreaterThanOrEqualTo(4_000_000);
      assertThat(attribute(LAST_PREFETCH_LOCATION, memory, 4 << 20, 1)).containsExactly(0);
      cuda.must("cuMemPrefetchAsync_v2", memory, 4096L, location(arena, 2, 0), 0, stream);
      assertThat(attribute(LAST_PREFETCH_LOCATION, memory, 4096, 1)).containsExactly(HOST);
      assertThat(attribute(LAST_PREFETCH_LOCATION, memory, 4 << 20, 1)).containsExactly(NOWHERE);
    }
  }

  @Test
  void onlyConcurrentAccessLetsManagedMemoryExceedTheCard() {
    simulation.setAll("memory", 1L << 20);
    cuda.must("cuMemFree_v2", cuda.get("cuMemAllocManaged", 1L << 21, 1));
    simulation.set(0, "attribute.89", 0);
    assertThat(cuda.tryGet("cuMemAllocManaged", 1L << 21, 1)).isEqualTo(Driver.OUT_OF_MEMORY);
    long memory = cuda.get("cuMemAllocManaged", 1L << 20, 1);
    assertThat(cuda.call("cuMemPrefetchAsync", memory, 1L << 20, 0, cuda.stream()))
        .isEqualTo(101); // invalid device
    cuda.must("cuMemFree_v2", memory);
    simulation.set(0, "attribute.83", 0);
    assertThat(cuda.tryGet("cuMemAllocManaged", 4096L, 1)).isEqualTo(Driver.NOT_SUPPORTED);
  }

  @Test
  void adviceForOtherMemoryIsAMistake() {
    assertThat(cuda.call("cuMemAdvise", cuda.allocate(4096), 4096L, 1, 0))
        .isEqualTo(Driver.INVALID_VALUE);
    assertThat(simulation.violations()).singleElement().asString().contains("not managed memory");
  }

  @Test
  void pointersTellWhatTheyPointTo() {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment value = arena.allocate(ValueLayout.JAVA_LONG);
      long device = cuda.allocate(1000);
      long managed = cuda.get("cuMemAllocManaged", 1000L, 1);
      MemorySegment pinned = cuda.pinned(1000);
      cuda.must("cuPointerGetAttribute", value, 2, device + 5);
      assertThat(value.get(ValueLayout.JAVA_INT, 0)).isEqualTo(2); // device
      cuda.must("cuPointerGetAttribute", value, 2, pinned.address());
      assertThat(value.get(ValueLayout.JAVA_INT, 0)).isEqualTo(1); // host
      cuda.must("cuPointerGetAttribute", value, 8, managed);
      assertThat(value.get(ValueLayout.JAVA_INT, 0)).isEqualTo(1);
      cuda.must("cuPointerGetAttribute", value, 11, device + 5);
      assertThat(value.get(ValueLayout.JAVA_LONG, 0)).isEqualTo(device);
      cuda.must("cuPointerGetAttribute", value, 12, device + 5);
      assertThat(value.get(ValueLayout.JAVA_LONG, 0)).isEqualTo(1000);
      assertThat(cuda.get("cuMemHostGetDevicePointer_v2", pinned, 0)).isEqualTo(pinned.address());
      assertThat(cuda.call("cuPointerGetAttribute", value, 2, value.address()))
          .isEqualTo(Driver.INVALID_VALUE);
    }
  }
}

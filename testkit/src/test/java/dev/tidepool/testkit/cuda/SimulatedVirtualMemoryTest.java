package dev.tidepool.testkit.cuda;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class SimulatedVirtualMemoryTest {
  private static final long PAGE = 2L << 20;

  private final SimulatedCuda simulation = SimulatedCuda.orSkip();
  private final Arena arena = Arena.ofShared();
  private Driver cuda;

  @BeforeEach
  void twoDevices() {
    cuda = Driver.with(simulation, 2);
  }

  @AfterEach
  void free() {
    arena.close();
  }

  private MemorySegment properties(int handleTypes) {
    MemorySegment properties = arena.allocate(32, 8);
    properties.set(ValueLayout.JAVA_INT, 0, 1); // pinned
    properties.set(ValueLayout.JAVA_INT, 4, handleTypes);
    properties.set(ValueLayout.JAVA_INT, 8, 1); // on a device, the first
    return properties;
  }

  private void allow(long address, long size, int device, int flags) {
    cuda.must("cuMemSetAccess", address, size, access(device, flags), 1L);
  }

  private MemorySegment access(int device, int flags) {
    return arena.allocateFrom(ValueLayout.JAVA_INT, 1, device, flags);
  }

  @Test
  void aSegmentGrowsWithoutMoving() {
    assertThat(cuda.get("cuMemGetAllocationGranularity", properties(0), 0)).isEqualTo(PAGE);
    long address = cuda.get("cuMemAddressReserve", 8 * PAGE, 0L, 0L, 0L);
    long first = cuda.get("cuMemCreate", PAGE, properties(0), 0L);
    cuda.must("cuMemMap", address, PAGE, 0L, first, 0L);
    allow(address, PAGE, 0, 3);
    cuda.write(address, Driver.pattern((int) PAGE));
    long second = cuda.get("cuMemCreate", PAGE, properties(0), 0L);
    cuda.must("cuMemMap", address + PAGE, PAGE, 0L, second, 0L);
    allow(address + PAGE, PAGE, 0, 3);
    cuda.must("cuMemRelease", first); // mapped, so it stays
    cuda.must("cuMemRelease", second);
    cuda.write(address + PAGE - 50, new byte[100]); // over the seam
    byte[] expected = Driver.pattern((int) PAGE);
    Arrays.fill(expected, (int) PAGE - 50, (int) PAGE, (byte) 0);
    assertThat(cuda.read(address, (int) PAGE)).isEqualTo(expected);
    cuda.must("cuMemUnmap", address, 2 * PAGE);
    cuda.must("cuMemAddressFree", address, 8 * PAGE);
    assertThat(simulation.violations()).isEmpty();
    assertThat(simulation.leaks()).hasSize(1); // the context
  }

  @Test
  void mappedMemoryIsOutOfReachUntilAccessIsGiven() {
    long address = cuda.get("cuMemAddressReserve", PAGE, 0L, 0L, 0L);
    long memory = cuda.get("cuMemCreate", PAGE, properties(0), 0L);
    long stream = cuda.stream();
    assertThat(cuda.call("cuMemsetD8Async", address, (byte) 1, 1L, stream))
        .isEqualTo(Driver.INVALID_VALUE);
    cuda.must("cuMemMap", address, PAGE, 0L, memory, 0L);
    assertThat(cuda.call("cuMemsetD8Async", address, (byte) 1, 1L, stream))
        .isEqualTo(Driver.INVALID_VALUE);
    allow(address, PAGE, 0, 3);
    cuda.must("cuMemsetD8Async", address, (byte) 1, 1L, stream);
    cuda.synchronize(stream);
    assertThat(cuda.call("cuMemAddressFree", address, PAGE)).isEqualTo(Driver.INVALID_VALUE);
    assertThat(cuda.call("cuMemUnmap", address, PAGE / 2)).isEqualTo(Driver.INVALID_VALUE);
    assertThat(cuda.call("cuMemMap", address, PAGE, 0L, memory, 0L))
        .isEqualTo(Driver.INVALID_VALUE);
    assertThat(cuda.call("cuMemMap", address + 64 * PAGE, PAGE, 0L, memory, 0L))
        .isEqualTo(Driver.INVALID_VALUE);
    simulation.setPeer(1, 0, false);
    assertThat(cuda.call("cuMemSetAccess", address, PAGE, access(1, 3), 1L)).isEqualTo(101);
    assertThat(simulation.violations()).hasSize(6);
  }

  @Test
  void physicalMemoryCountsUntilItsLastMappingAndHandleAreGone() {
    simulation.set(0, "memory", 2 * PAGE);
    long address = cuda.get("cuMemAddressReserve", 4 * PAGE, 0L, 0L, 0L);
    long memory = cuda.get("cuMemCreate", 2 * PAGE, properties(0), 0L);
    assertThat(cuda.tryGet("cuMemCreate", PAGE, properties(0), 0L)).isEqualTo(Driver.OUT_OF_MEMORY);
    cuda.must("cuMemMap", address, 2 * PAGE, 0L, memory, 0L);
    cuda.must("cuMemRelease", memory);
    assertThat(cuda.tryGet("cuMemCreate", PAGE, properties(0), 0L)).isEqualTo(Driver.OUT_OF_MEMORY);
    cuda.must("cuMemUnmap", address, 2 * PAGE);
    cuda.must("cuMemRelease", cuda.get("cuMemCreate", PAGE, properties(0), 0L));
    assertThat(cuda.call("cuMemRelease", memory)).isEqualTo(Driver.INVALID_VALUE);
    assertThat(cuda.tryGet("cuMemCreate", PAGE + 1, properties(0), 0L))
        .isEqualTo(Driver.INVALID_VALUE);
    assertThat(simulation.violations()).hasSize(1);
  }

  @Test
  void anExportedDescriptorIsTheSameMemory() {
    long memory = cuda.get("cuMemCreate", PAGE, properties(1), 0L);
    MemorySegment descriptor = arena.allocate(ValueLayout.JAVA_INT);
    cuda.must("cuMemExportToShareableHandle", descriptor, memory, 1, 0L);
    long imported =
        cuda.get(
            "cuMemImportFromShareableHandle", (long) descriptor.get(ValueLayout.JAVA_INT, 0), 1);
    long address = cuda.get("cuMemAddressReserve", 2 * PAGE, 0L, 0L, 0L);
    cuda.must("cuMemMap", address, PAGE, 0L, memory, 0L);
    cuda.must("cuMemMap", address + PAGE, PAGE, 0L, imported, 0L);
    allow(address, 2 * PAGE, 0, 3);
    cuda.write(address, Driver.pattern(100));
    assertThat(cuda.read(address + PAGE, 100)).isEqualTo(Driver.pattern(100));
    long secret = cuda.get("cuMemCreate", PAGE, properties(0), 0L);
    assertThat(cuda.call("cuMemExportToShareableHandle", descriptor, secret, 1, 0L))
        .isEqualTo(Driver.INVALID_VALUE);
    assertThat(cuda.tryGet("cuMemImportFromShareableHandle", 0L, 1))
        .isEqualTo(Driver.INVALID_VALUE);
    assertThat(simulation.violations()).hasSize(2);
  }
}

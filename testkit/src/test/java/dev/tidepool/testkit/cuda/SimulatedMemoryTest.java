package dev.tidepool.testkit.cuda;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class SimulatedMemoryTest {
  private final SimulatedCuda simulation = SimulatedCuda.orSkip();
  private Driver cuda;

  @BeforeEach
  void oneDevice() {
    cuda = Driver.with(simulation, 1);
  }

  @Test
  void whatIsWrittenIsReadBack() {
    long memory = cuda.allocate(100_000);
    byte[] bytes = Driver.pattern(100_000);
    cuda.write(memory, bytes);
    assertThat(cuda.read(memory, bytes.length)).isEqualTo(bytes);
    cuda.must("cuMemFree_v2", memory);
    assertThat(simulation.violations()).isEmpty();
    assertThat(simulation.notes()).isEmpty();
  }

  @Test
  void freshMemoryIsNotZero() {
    assertThat(cuda.read(cuda.allocate(4096), 4096)).containsOnly((byte) 0xA5);
  }

  @Test
  void fillsAreOfOneTwoOrFourBytes() {
    long memory = cuda.allocate(16);
    long stream = cuda.stream();
    cuda.must("cuMemsetD8Async", memory, (byte) 1, 16L, stream);
    cuda.must("cuMemsetD16Async", memory, (short) 0x0302, 2L, stream);
    cuda.must("cuMemsetD32Async", memory + 4, 0x07060504, 1L, stream);
    cuda.synchronize(stream);
    assertThat(cuda.read(memory, 16))
        .containsExactly(2, 3, 2, 3, 4, 5, 6, 7, 1, 1, 1, 1, 1, 1, 1, 1);
    assertThat(cuda.call("cuMemsetD32Async", memory + 1, 0, 1L, stream))
        .isEqualTo(Driver.INVALID_VALUE);
    assertThat(simulation.violations()).singleElement().asString().contains("not aligned");
  }

  @Test
  void aDeviceHasOnlyTheMemoryItHas() {
    simulation.set(0, "memory", 1 << 20);
    long half = cuda.allocate(1 << 19);
    assertThat(cuda.tryGet("cuMemAlloc_v2", (1L << 19) + 1)).isEqualTo(Driver.OUT_OF_MEMORY);
    long other = cuda.allocate(1 << 19);
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment both = arena.allocate(ValueLayout.JAVA_LONG, 2);
      cuda.must("cuMemGetInfo_v2", both, both.asSlice(8));
      assertThat(both.toArray(ValueLayout.JAVA_LONG)).containsExactly(0, 1 << 20);
    }
    cuda.must("cuMemFree_v2", half);
    cuda.must("cuMemFree_v2", other);
    cuda.must("cuMemFree_v2", cuda.allocate(1 << 20));
    assertThat(simulation.violations()).isEmpty();
  }

  @Test
  void freedMemoryCannotBeUsedOrFreedAgain() {
    long memory = cuda.allocate(1000);
    long stream = cuda.stream();
    cuda.must("cuMemFree_v2", memory);
    assertThat(cuda.call("cuMemFree_v2", memory)).isEqualTo(Driver.INVALID_VALUE);
    assertThat(cuda.call("cuMemsetD8Async", memory + 8, (byte) 0, 8L, stream))
        .isEqualTo(Driver.INVALID_VALUE);
    assertThat(simulation.violations())
        .hasSize(2)
        .allSatisfy(
            line ->
                assertThat(line).contains("device memory of 1000 bytes, freed by cuMemFree_v2"));
  }

  @Test
  void onlyWholeAllocationsOfTheDriverAreFreed() {
    long memory = cuda.allocate(1000);
    assertThat(cuda.call("cuMemFree_v2", memory + 16)).isEqualTo(Driver.INVALID_VALUE);
    assertThat(cuda.call("cuMemFree_v2", 0x1000L)).isEqualTo(Driver.INVALID_VALUE);
    MemorySegment pinned = cuda.pinned(64);
    assertThat(cuda.call("cuMemFree_v2", pinned.address())).isEqualTo(Driver.INVALID_VALUE);
    assertThat(simulation.violations())
        .satisfiesExactly(
            line -> assertThat(line).contains("16 bytes inside"),
            line -> assertThat(line).contains("0x1000, which the driver never gave"),
            line -> assertThat(line).contains("of pinned memory"));
  }

  @Test
  void copiesStayInsideTheirMemory() {
    long memory = cuda.allocate(1000);
    long stream = cuda.stream();
    MemorySegment pinned = cuda.pinned(2000);
    assertThat(cuda.call("cuMemcpyHtoDAsync_v2", memory + 500, pinned, 501L, stream))
        .isEqualTo(Driver.INVALID_VALUE);
    assertThat(cuda.call("cuMemcpyDtoHAsync_v2", pinned.asSlice(1500), memory, 501L, stream))
        .isEqualTo(Driver.INVALID_VALUE);
    assertThat(simulation.violations())
        .hasSize(2)
        .allSatisfy(line -> assertThat(line).contains("1 of them beyond the end"));
  }

  @Test
  void memoryThatWorkStillUsesIsNotFreedUnseen() {
    long memory = cuda.allocate(1000);
    long stream = cuda.stream();
    Gate gate = Gate.closed(cuda, stream);
    cuda.must("cuMemsetD8Async", memory, (byte) 1, 1000L, stream);
    Thread.startVirtualThread(
        () -> {
          await().until(() -> !simulation.violations().isEmpty());
          gate.open();
        });
    cuda.must("cuMemFree_v2", memory);
    assertThat(simulation.violations())
        .singleElement()
        .asString()
        .contains("while 1 commands still use it");
  }

  @Test
  void copiesOfPageableMemoryAreLegalAndNoted() {
    try (Arena arena = Arena.ofConfined()) {
      long stream = cuda.stream();
      long memory = cuda.allocate(100);
      MemorySegment pageable = arena.allocateFrom(ValueLayout.JAVA_BYTE, Driver.pattern(100));
      cuda.must("cuMemcpyHtoDAsync_v2", memory, pageable, 100L, stream);
      pageable.fill((byte) 0); // it was staged
      cuda.must("cuMemcpyDtoHAsync_v2", pageable, memory, 100L, stream); // waits
      assertThat(pageable.toArray(ValueLayout.JAVA_BYTE)).isEqualTo(Driver.pattern(100));
      assertThat(simulation.violations()).isEmpty();
      assertThat(simulation.notes()).hasSize(2);
      simulation.forget();

      cuda.must("cuMemHostRegister_v2", pageable, 100L, 0);
      cuda.must("cuMemcpyHtoDAsync_v2", memory, pageable, 100L, stream);
      cuda.synchronize(stream);
      assertThat(cuda.call("cuMemHostRegister_v2", pageable, 10L, 0))
          .isEqualTo(Driver.HOST_MEMORY_ALREADY_REGISTERED);
      cuda.must("cuMemHostUnregister", pageable);
      assertThat(simulation.notes()).isEmpty();
      assertThat(cuda.call("cuMemHostUnregister", pageable))
          .isEqualTo(Driver.HOST_MEMORY_NOT_REGISTERED);
      assertThat(simulation.violations()).hasSize(1);
    }
  }

  @Test
  void aCopyTakesMemoryOfTheHostThatIsLockedAsAWholeOrNotAtAll() {
    try (Arena arena = Arena.ofConfined()) {
      long stream = cuda.stream();
      long memory = cuda.allocate(200);
      MemorySegment pageable = arena.allocate(200);
      cuda.must("cuMemHostRegister_v2", pageable.asSlice(100), 100L, 0);
      assertThat(cuda.call("cuMemcpyHtoDAsync_v2", memory, pageable, 200L, stream))
          .isEqualTo(Driver.INVALID_VALUE);
      assertThat(cuda.call("cuMemcpyDtoHAsync_v2", pageable, memory, 101L, stream))
          .isEqualTo(Driver.INVALID_VALUE);
      assertThat(simulation.violations())
          .hasSize(2)
          .allMatch(violation -> violation.contains("after 100 bytes"));
      cuda.must("cuMemcpyHtoDAsync_v2", memory, pageable, 100L, stream);
      cuda.synchronize(stream);
      cuda.must("cuMemHostUnregister", pageable.asSlice(100));
    }
  }

  @Test
  void whatWasNotFreedIsListed() {
    cuda.allocate(1234);
    MemorySegment pinned = cuda.pinned(99);
    cuda.stream();
    cuda.event();
    assertThat(simulation.leaks())
        .hasSize(5)
        .anySatisfy(line -> assertThat(line).contains("device memory").contains("1234 bytes"))
        .anySatisfy(line -> assertThat(line).contains("pinned memory").contains("99 bytes"))
        .anySatisfy(line -> assertThat(line).startsWith("stream"))
        .anySatisfy(line -> assertThat(line).startsWith("event"))
        .anySatisfy(line -> assertThat(line).contains("primary context of device 0"));
    cuda.must("cuMemFreeHost", pinned);
    cuda.must("cuDevicePrimaryCtxRelease_v2", 0);
    assertThat(simulation.leaks()).isEmpty();
    assertThat(simulation.violations())
        .hasSize(3)
        .allSatisfy(line -> assertThat(line).contains("still there when the context"));
  }
}

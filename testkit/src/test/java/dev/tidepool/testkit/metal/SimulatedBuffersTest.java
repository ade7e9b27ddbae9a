package dev.tidepool.testkit.metal;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Buffers and heaps of the simulated Metal, and the misuse of them. */
class SimulatedBuffersTest {
  private static final int PAGE = 16 << 10;
  private static final String WITHOUT_COPY = "newBufferWithBytesNoCopy:length:options:deallocator:";

  private final SimulatedMetal simulation = SimulatedMetal.orSkip();
  private Messages metal;
  private long device;
  private long queue;

  @BeforeEach
  void start() {
    metal = Messages.with(simulation, 1);
    device = metal.device(0);
    queue = metal.queue(device);
  }

  private void assertViolation(String... parts) {
    assertThat(simulation.violations())
        .singleElement()
        .satisfies(line -> assertThat(line).contains(parts));
    simulation.forget();
  }

  private long copied(long from, long to, long size) {
    long[] status = new long[1];
    metal.pooled(
        () -> {
          long commands = metal.commands(queue);
          metal.copy(commands, from, 0, to, 0, size);
          status[0] = metal.finish(commands);
        });
    return status[0];
  }

  @Test
  void aNewBufferIsZeroAndCounted() {
    long buffer = metal.buffer(device, 100, Messages.SHARED);
    assertThat(metal.contents(buffer).toArray(JAVA_BYTE)).containsOnly(0).hasSize(100);
    assertThat(metal.send(buffer, "allocatedSize")).isEqualTo(PAGE);
    assertThat(metal.send(buffer, "storageMode")).isZero();
    assertThat(metal.send(buffer, "device")).isEqualTo(device);
    assertThat(metal.send(device, "currentAllocatedSize")).isEqualTo(PAGE);
    metal.release(buffer);
    assertThat(metal.send(device, "currentAllocatedSize")).isZero();
    assertThat(simulation.violations()).isEmpty();
  }

  @Test
  void aBufferOfBytesHasThem() {
    byte[] pattern = Messages.pattern(1000);
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment bytes = arena.allocateFrom(JAVA_BYTE, pattern);
      long buffer =
          metal.send(device, "newBufferWithBytes:length:options:", bytes, 1000L, Messages.SHARED);
      bytes.fill((byte) 0);
      assertThat(metal.contents(buffer).toArray(JAVA_BYTE)).isEqualTo(pattern);
    }
  }

  @Test
  void theHostHasNoAccessToPrivateMemory() {
    long buffer = metal.buffer(device, 64, Messages.PRIVATE);
    assertThat(metal.send(buffer, "storageMode")).isEqualTo(2);
    assertThat(metal.send(buffer, "contents")).isZero();
    assertViolation("contents", "private", "no access");
  }

  @Test
  void bytesReachPrivateMemoryByBlits() {
    byte[] pattern = Messages.pattern(4096);
    long shared = metal.buffer(device, 4096, Messages.SHARED);
    long hidden = metal.buffer(device, 4096, Messages.PRIVATE);
    long back = metal.buffer(device, 4096, Messages.SHARED);
    metal.contents(shared).copyFrom(MemorySegment.ofArray(pattern));
    assertThat(copied(shared, hidden, 4096)).isEqualTo(Messages.COMPLETED);
    assertThat(copied(hidden, back, 4096)).isEqualTo(Messages.COMPLETED);
    assertThat(metal.contents(back).toArray(JAVA_BYTE)).isEqualTo(pattern);
    assertThat(simulation.violations()).isEmpty();
  }

  @Test
  void managedMemoryHasTwoCopiesWhereMemoryIsNotUnified() {
    simulation.set(0, "unified", 0);
    byte[] pattern = Messages.pattern(64);
    long managed = metal.buffer(device, 64, Messages.MANAGED);
    long shared = metal.buffer(device, 64, Messages.SHARED);
    metal.contents(managed).copyFrom(MemorySegment.ofArray(pattern));
    copied(managed, shared, 64);
    assertThat(metal.contents(shared).toArray(JAVA_BYTE)).containsOnly(0);
    metal.send(managed, "didModifyRange:", Messages.range(0, 32));
    copied(managed, shared, 64);
    assertThat(metal.contents(shared).asSlice(0, 32).toArray(JAVA_BYTE))
        .isEqualTo(Arrays.copyOf(pattern, 32));
    assertThat(metal.contents(shared).asSlice(32).toArray(JAVA_BYTE)).containsOnly(0);
    metal.contents(managed).fill((byte) 9);
    metal.pooled(
        () -> {
          long commands = metal.commands(queue);
          long encoder = metal.send(commands, "blitCommandEncoder");
          metal.send(encoder, "synchronizeResource:", managed);
          metal.send(encoder, "endEncoding");
          metal.finish(commands);
        });
    assertThat(metal.contents(managed).asSlice(0, 32).toArray(JAVA_BYTE))
        .isEqualTo(Arrays.copyOf(pattern, 32));
    assertThat(simulation.violations()).isEmpty();
    metal.send(managed, "didModifyRange:", Messages.range(40, 32));
    assertViolation("didModifyRange:");
  }

  @Test
  void managedMemoryIsOneWhereMemoryIsUnified() {
    long managed = metal.buffer(device, 64, Messages.MANAGED);
    long shared = metal.buffer(device, 64, Messages.SHARED);
    metal.contents(managed).fill((byte) 5);
    copied(managed, shared, 64);
    assertThat(metal.contents(shared).toArray(JAVA_BYTE)).containsOnly(5);
  }

  @Test
  void aBufferWithoutACopyIsTheProgramsMemory() {
    try (Arena arena = Arena.ofShared()) {
      MemorySegment memory = arena.allocate(2 * PAGE, PAGE);
      memory.fill((byte) 3);
      long buffer = metal.send(device, WITHOUT_COPY, memory, 2L * PAGE, Messages.SHARED, 0L);
      assertThat(metal.send(buffer, "contents")).isEqualTo(memory.address());
      long other = metal.buffer(device, 64, Messages.SHARED);
      copied(buffer, other, 64);
      assertThat(metal.contents(other).toArray(JAVA_BYTE)).containsOnly(3);
      assertThat(metal.send(device, "currentAllocatedSize")).isEqualTo(PAGE);
      metal.release(buffer);
    }
    assertThat(simulation.violations()).isEmpty();
  }

  @Test
  void aBufferWithoutACopyNeedsWholePages() {
    try (Arena arena = Arena.ofShared()) {
      MemorySegment memory = arena.allocate(2 * PAGE, PAGE);
      assertThat(
              metal.send(
                  device, WITHOUT_COPY, memory.asSlice(4096), (long) PAGE, Messages.SHARED, 0L))
          .isZero();
      assertViolation("not aligned to pages of 16384");
      assertThat(metal.send(device, WITHOUT_COPY, memory, PAGE + 8L, Messages.SHARED, 0L)).isZero();
      assertViolation("not aligned to pages of 16384");
      assertThat(metal.send(device, WITHOUT_COPY, memory, (long) PAGE, Messages.PRIVATE, 0L))
          .isZero();
      assertViolation("private storage");
      assertThat(metal.send(device, WITHOUT_COPY, memory, (long) PAGE, Messages.SHARED, 64L))
          .isZero();
      assertViolation("no blocks");
    }
  }

  @Test
  void memoryThatIsUnmappedBeforeItsBufferIsReleasedIsAViolation() {
    long buffer;
    long other = metal.buffer(device, 64, Messages.SHARED);
    try (Mapping mapping = new Mapping(PAGE)) {
      buffer =
          metal.send(device, WITHOUT_COPY, mapping.address(), (long) PAGE, Messages.SHARED, 0L);
      assertThat(buffer).isNotZero();
    }
    assertThat(copied(buffer, other, 64)).isEqualTo(Messages.FAILED);
    assertViolation("unmapped");
    metal.release(buffer);
    assertViolation("unmapped before the buffer was released");
  }

  @Test
  void aBufferIsNoLongerThanTheDevicePermits() {
    simulation.set(0, "max_buffer", 1 << 20);
    assertThat(metal.buffer(device, (1 << 20) + 1, Messages.SHARED)).isZero();
    assertViolation("1048577", "maxBufferLength is 1048576");
    assertThat(metal.buffer(device, 0, Messages.SHARED)).isZero();
    assertViolation("a length of 0");
    assertThat(metal.buffer(device, 64, 3 << 4)).isZero();
    assertViolation("resource options 0x30");
    assertThat(metal.buffer(device, 1 << 20, Messages.SHARED)).isNotZero();
  }

  @Test
  void fullMemoryAnswersNil() {
    simulation.set(0, "memory", 4 * PAGE);
    long first = metal.buffer(device, 2 * PAGE, Messages.SHARED);
    long second = metal.buffer(device, 2 * PAGE, Messages.PRIVATE);
    assertThat(metal.buffer(device, 1, Messages.SHARED)).isZero();
    assertThat(simulation.notes()).anySatisfy(note -> assertThat(note).contains("working set"));
    metal.release(first);
    assertThat(metal.buffer(device, 1, Messages.SHARED)).isNotZero();
    metal.release(second);
    assertThat(simulation.violations()).isEmpty();
  }

  @Test
  void thereAreSoManyResourcesAndNoMore() {
    simulation.set(0, "resources", 3);
    for (int i = 0; i < 3; i++) {
      assertThat(metal.buffer(device, 64, Messages.SHARED)).isNotZero();
    }
    assertThat(metal.buffer(device, 64, Messages.SHARED)).isZero();
    assertThat(simulation.notes()).singleElement().asString().contains("3 resources");
  }

  @Test
  void aHeapGivesPartsOfItself() {
    long descriptor = metal.send(metal.type("MTLHeapDescriptor"), "new");
    metal.send(descriptor, "setSize:", 1000L);
    metal.send(descriptor, "setStorageMode:", 0L);
    long heap = metal.send(device, "newHeapWithDescriptor:", descriptor);
    assertThat(metal.send(heap, "size")).isEqualTo(PAGE);
    List<Long> buffers =
        List.of(
            metal.buffer(heap, 100, Messages.SHARED),
            metal.buffer(heap, 300, Messages.SHARED),
            metal.buffer(heap, 100, Messages.SHARED));
    assertThat(buffers)
        .map(buffer -> metal.send(buffer, "heapOffset"))
        .containsExactly(0L, 256L, 768L);
    assertThat(metal.send(heap, "usedSize")).isEqualTo(1024);
    metal.release(buffers.get(1));
    assertThat(metal.send(heap, "usedSize")).isEqualTo(512);
    long again = metal.buffer(heap, 512, Messages.SHARED);
    assertThat(metal.send(again, "heapOffset")).isEqualTo(256);
    assertThat(metal.send(again, "heap")).isEqualTo(heap);
    assertThat(metal.send(heap, "maxAvailableSizeWithAlignment:", 256L)).isEqualTo(PAGE - 1024);
    assertThat(metal.buffer(heap, PAGE, Messages.SHARED)).isZero();
    assertThat(metal.send(device, "currentAllocatedSize")).isEqualTo(PAGE);
    assertThat(simulation.violations()).isEmpty();
    assertThat(metal.buffer(heap, 100, Messages.PRIVATE)).isZero();
    assertViolation("where the heap has");
  }
}

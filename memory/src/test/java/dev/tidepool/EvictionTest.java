package dev.tidepool;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Which buffers leave memory when it is full, of more than the search remembers. */
final class EvictionTest {
  private static final int BYTES = 4096;
  private static final int ROOM = 1000;

  @TempDir private Path directory;

  private MemoryOptions limited() {
    return MemoryOptions.builder().memoryLimit(ROOM * BYTES).spillDirectory(directory).build();
  }

  private UnifiedMemoryManager full(List<UnifiedBuffer<byte[]>> buffers) {
    UnifiedMemoryManager memory = UnifiedMemoryManager.create(limited());
    while (memory.statistics().spills() == 0) {
      buffers.add(filled(memory, buffers.size()));
    }
    return memory;
  }

  private static UnifiedBuffer<byte[]> filled(UnifiedMemoryManager memory, int i) {
    UnifiedBuffer<byte[]> buffer = memory.allocate(ElementType.BYTE, BYTES);
    buffer.fill((byte) i);
    return buffer;
  }

  private static void assertHolds(UnifiedBuffer<byte[]> buffer, int i) {
    byte[] seen = new byte[BYTES];
    buffer.copyTo(seen);
    assertThat(seen).containsOnly((byte) i);
  }

  @Test
  void whatIsUsedAllTheTimeStays() {
    List<UnifiedBuffer<byte[]>> buffers = new ArrayList<>();
    try (UnifiedMemoryManager memory = full(buffers)) {
      List<UnifiedBuffer<byte[]>> used = buffers.subList(400, 500);
      List<UnifiedBuffer<byte[]>> further = new ArrayList<>();
      // By a fill: of short copies, the time is taken once in a while only.
      used.forEach(buffer -> buffer.fill((byte) 7));
      for (int i = 0; i < 3000; i++) {
        used.get(i % used.size()).fill((byte) 7);
        further.add(filled(memory, i));
      }
      assertThat(memory.statistics().unspills()).isZero();
      for (int i = 0; i < further.size(); i++) {
        assertHolds(further.get(i), i);
      }
    }
  }

  @Test
  void theOneBufferThatMayGoIsFoundAmongManyThatMayNotAndWereUsedBefore() {
    try (UnifiedMemoryManager memory = UnifiedMemoryManager.create(limited())) {
      List<UnifiedBuffer<byte[]>> exposed = new ArrayList<>();
      for (int i = 0; i < ROOM / 2; i++) {
        exposed.add(filled(memory, i));
        exposed.getLast().asSegment();
      }
      UnifiedBuffer<byte[]> free = filled(memory, 5);
      while (memory.statistics().spills() == 0) {
        free.fill((byte) 5);
        exposed.add(filled(memory, 6));
        exposed.getLast().asSegment();
      }
      assertThat(exposed).hasSizeGreaterThan(ROOM / 2);
      exposed.removeLast().close();
      assertHolds(free, 5);
      assertThat(memory.statistics().unspills()).isEqualTo(1);
    }
  }

  @Test
  void buffersThatWereNeverUsedGoToo() {
    List<UnifiedBuffer<byte[]>> buffers = new ArrayList<>();
    try (UnifiedMemoryManager memory = UnifiedMemoryManager.create(limited())) {
      for (int i = 0; i < 3 * ROOM; i++) {
        buffers.add(memory.allocate(ElementType.BYTE, BYTES));
      }
      assertThat(memory.statistics().spills()).isGreaterThanOrEqualTo(2 * ROOM);
      assertThat(memory.statistics().activeBuffers()).isEqualTo(3 * ROOM);
    }
  }

  @Test
  void aSearchThatFindsNothingEnds() {
    try (UnifiedMemoryManager memory = UnifiedMemoryManager.create(limited())) {
      List<UnifiedBuffer<byte[]>> exposed = new ArrayList<>();
      assertThatThrownBy(
              () -> {
                while (true) {
                  exposed.add(memory.allocate(ElementType.BYTE, BYTES));
                  exposed.getLast().asSegment();
                }
              })
          .isInstanceOf(OutOfDeviceMemoryException.class);
      assertThat(memory.statistics().spills()).isZero();
      assertThat(exposed).hasSizeGreaterThan(ROOM / 2);
    }
  }
}

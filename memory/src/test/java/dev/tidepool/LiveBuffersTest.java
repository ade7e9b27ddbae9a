package dev.tidepool;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A list of the live buffers has all of them, whatever other threads do, and takes finite time. */
@Timeout(120)
final class LiveBuffersTest {
  private static final int SMALL = 500;

  @TempDir private Path directory;

  /** What others do, again and again, while a manager is asked. */
  private interface Meanwhile {
    void run(UnifiedMemoryManager memory);
  }

  private static void assertAllFound(
      MemoryOptions options, int count, int bytes, Meanwhile meanwhile) throws Exception {
    AtomicBoolean done = new AtomicBoolean();
    List<UnifiedBuffer<byte[]>> kept = new ArrayList<>();
    Allocation tagged = Allocation.at(MemoryLocation.DEVICE).tag("kept");
    try (UnifiedMemoryManager memory = UnifiedMemoryManager.create(options);
        ExecutorService threads = Executors.newFixedThreadPool(2)) {
      for (int i = 0; i < count; i++) {
        // Every second block becomes a hole, which gives defragmentation something to do.
        UnifiedBuffer<byte[]> hole = memory.allocate(ElementType.BYTE, bytes);
        kept.add(memory.allocate(ElementType.BYTE, bytes, tagged));
        kept.getLast().fill((byte) i);
        hole.close();
      }
      List<Future<?>> others = new ArrayList<>();
      for (int i = 0; i < 2; i++) {
        others.add(
            threads.submit(
                () -> {
                  while (!done.get()) {
                    meanwhile.run(memory);
                  }
                }));
      }
      try {
        for (int look = 0; look < 30; look++) {
          assertThat(memory.bytesByTag()).containsEntry("kept", (long) count * bytes);
          assertThat(memory.buffers().stream().filter(buffer -> buffer.tag().equals("kept")))
              .hasSize(count);
        }
      } finally {
        done.set(true);
      }
      for (Future<?> other : others) {
        other.get();
      }
      kept.forEach(UnifiedBuffer::close);
      assertThat(memory.buffers()).isEmpty();
    }
  }

  @Test
  void whileBuffersComeAndGoWithoutAPause() throws Exception {
    assertAllFound(
        MemoryOptions.defaults(),
        2000,
        SMALL,
        memory -> {
          try (UnifiedBuffer<byte[]> passing = memory.allocate(ElementType.BYTE, 700)) {
            passing.fill((byte) 1);
          }
        });
  }

  @Test
  void whileBuffersAreMovedTogether() throws Exception {
    assertAllFound(
        MemoryOptions.defaults(),
        1000,
        SMALL,
        memory -> {
          List<UnifiedBuffer<byte[]>> scattered = new ArrayList<>();
          for (int i = 0; i < 500; i++) {
            scattered.add(memory.allocate(ElementType.BYTE, SMALL));
          }
          for (int i = 0; i < 500; i += 2) {
            scattered.get(i).close();
          }
          memory.defragment();
          scattered.forEach(UnifiedBuffer::close);
        });
  }

  @Test
  void whileBuffersAreSpilledAndComeBack() throws Exception {
    MemoryOptions options =
        MemoryOptions.builder().memoryLimit(2 << 20).spillDirectory(directory).build();
    assertAllFound(
        options,
        40,
        64 << 10,
        memory -> {
          try (UnifiedBuffer<byte[]> large = memory.allocate(ElementType.BYTE, 600 << 10)) {
            large.fill((byte) 1);
          } catch (OutOfDeviceMemoryException othersHaveIt) {
            assertThat(othersHaveIt.requestedBytes()).isEqualTo(600 << 10);
          }
        });
  }
}

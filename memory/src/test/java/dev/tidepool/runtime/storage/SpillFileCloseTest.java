package dev.tidepool.runtime.storage;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.TransferException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The time limit is for waiting for ever. */
@Timeout(60)
final class SpillFileCloseTest {
  @TempDir private Path directory;

  @Test
  void whoeverReadsOrWritesAClosedFileIsToldSo() throws Exception {
    try (Arena arena = Arena.ofShared()) {
      MemorySegment memory = arena.allocate(1000);
      SpillFile file = SpillFile.open(directory);
      SpillFile.Extent extent = file.reserve(1000);
      extent.write(0, memory);
      file.close();
      assertThatThrownBy(() -> extent.read(memory))
          .isInstanceOf(IllegalStateException.class)
          .hasMessageContainingAll("the spill file in " + directory, "is closed");
      assertThatThrownBy(() -> extent.write(0, memory))
          .isInstanceOf(IllegalStateException.class)
          .hasMessageContainingAll("the spill file in " + directory, "is closed");
      assertThatCode(extent::drop).doesNotThrowAnyException();
      assertThat(file.spilledBytes()).isZero();
      assertThat(directory).isEmptyDirectory();
    }
  }

  /** An interrupt closes the channel, and its exception has no message. */
  @Test
  void aFailureWithoutAMessageIsNamed() throws Exception {
    AtomicBoolean done = new AtomicBoolean();
    Thread interrupting =
        Thread.ofPlatform()
            .start(
                () -> {
                  while (!done.get()) {
                    Thread.getAllStackTraces().keySet().stream()
                        .filter(thread -> thread.getName().startsWith("tidepool-spill-"))
                        .forEach(Thread::interrupt);
                  }
                });
    try (Arena arena = Arena.ofShared();
        SpillFile file = SpillFile.open(directory)) {
      MemorySegment memory = arena.allocate(16 << 20);
      SpillFile.Extent extent = file.reserve(memory.byteSize());
      assertThatThrownBy(
              () -> {
                while (true) {
                  extent.write(0, memory);
                }
              })
          .isInstanceOf(TransferException.class)
          .hasMessageMatching(".* failed: Closed\\w+Exception; the buffer stays .*");
      assertThatThrownBy(() -> extent.read(memory))
          .isInstanceOf(TransferException.class)
          .hasMessageContaining(" failed: ClosedChannelException; the spilled bytes stay ");
    } finally {
      done.set(true);
      interrupting.join();
    }
  }
}

package dev.tidepool.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.stream.file.PositionalFile;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.reflect.Field;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

/** A heap that is full anywhere while a file is opened, or opened again, leaves no file open. */
@Timeout(240)
class FullHeapFileTest {
  /** Calls in a row that no allocation failed in until the last allocation was seen. */
  private static final int ENOUGH = 3;

  @TempDir private Path directory;

  @Test
  @EnabledOnOs(OS.LINUX)
  void noFileStaysOpen() throws Exception {
    Path path = Files.write(directory.resolve("bytes"), new byte[100]);
    FullHeap.run(Scenario.class, Path.class, path);
  }

  /** What the test does, with a library whose heap can be full. */
  static final class Scenario implements Callable<Void> {
    private final Path path;
    private final MemorySegment memory = Arena.ofAuto().allocate(100);

    Scenario(Path path) {
      this.path = path;
    }

    @Override
    public Void call() throws Exception {
      Field channel = PositionalFile.class.getDeclaredField("channel");
      channel.setAccessible(true);
      int clean = 0;
      for (int number = 0; clean < ENOUGH; number++) {
        FullHeap.fillUpAfter(number, false);
        try (PositionalFile file = PositionalFile.open(path)) {
          // As an interrupt of a thread that reads does.
          ((FileChannel) channel.get(file)).close();
          file.read(0, memory);
        } catch (OutOfMemoryError full) {
          // Nothing was read.
        }
        clean = FullHeap.clear() ? 0 : clean + 1;
        assertThat(timesOpen()).as("files with a full heap after %s allocations", number).isZero();
      }
      return null;
    }

    private long timesOpen() throws IOException {
      try (Stream<Path> descriptors = Files.list(Path.of("/proc/self/fd"))) {
        return descriptors.filter(this::isOfFile).count();
      }
    }

    private boolean isOfFile(Path descriptor) {
      try {
        return Files.readSymbolicLink(descriptor).equals(path.toRealPath());
      } catch (IOException closedMeanwhile) {
        return false;
      }
    }
  }
}

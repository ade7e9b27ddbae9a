package dev.tidepool.runtime.session;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.tidepool.ElementType;
import dev.tidepool.MemoryLocation;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** In a control group with little memory, idle blocks go back before the group is full. */
class SmallContainerTest {
  private static final long MEBIBYTE = 1 << 20;
  private static final long LIMIT = 512 * MEBIBYTE;
  private static final Path V1 = Path.of("/sys/fs/cgroup/memory");
  private static final Path V2 = Path.of("/sys/fs/cgroup");

  private final Path group =
      (Files.exists(V1) ? V1 : V2).resolve("tidepool-test-" + ProcessHandle.current().pid());

  @AfterEach
  void removeTheGroup() throws Exception {
    for (int i = 0; i < 50 && Files.exists(group); i++) {
      if (!group.toFile().delete()) {
        Thread.sleep(100);
      }
    }
  }

  @Test
  void idleBlocksAreBackBeforeTheContainerIsFull() throws Exception {
    assumeTrue(
        makeGroup(), "no control group can be made here; it takes root and a writable mount");
    Process process =
        new ProcessBuilder(
                "sh",
                "-c",
                "echo $$ > " + group.resolve("cgroup.procs") + " && exec \"$@\"",
                "sh",
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--enable-native-access=ALL-UNNAMED",
                "-Xmx96m",
                "-cp",
                System.getProperty("java.class.path"),
                Hog.class.getName())
            .redirectErrorStream(true)
            .start();
    try {
      String output = new String(process.getInputStream().readAllBytes());
      assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
      assertThat(output).contains("pooled 128 MiB, then 0");
      assertThat(process.exitValue()).isZero();
    } finally {
      process.destroyForcibly().waitFor();
    }
  }

  private boolean makeGroup() {
    try {
      Files.createDirectory(group);
      Path limit = group.resolve(Files.exists(V1) ? "memory.limit_in_bytes" : "memory.max");
      Files.writeString(limit, Long.toString(LIMIT));
      return Files.exists(group.resolve("cgroup.procs"));
    } catch (IOException e) {
      return false;
    }
  }

  /** Fills a pool, then needs the room for something else. */
  static final class Hog {
    public static void main(String[] args) throws Exception {
      try (Tidepool tidepool = Tidepool.open();
          Arena arena = Arena.ofConfined()) {
        UnifiedMemoryManager memory = tidepool.memory(tidepool.accelerator("cpu:0"));
        List<UnifiedBuffer<byte[]>> buffers = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
          UnifiedBuffer<byte[]> buffer =
              memory.allocate(ElementType.BYTE, 32 * MEBIBYTE, MemoryLocation.HOST);
          buffer.fill((byte) 1);
          buffers.add(buffer);
        }
        buffers.forEach(UnifiedBuffer::close);
        long pooled = memory.statistics().totalPooled();
        // In small steps, each longer than one look of the maintenance thread.
        int steps = 0;
        while (memory.statistics().totalPooled() > 0 && steps++ < 40) {
          arena.allocate(8 * MEBIBYTE).fill((byte) 1);
          Thread.sleep(300);
        }
        System.out.println(
            "pooled " + pooled / MEBIBYTE + " MiB, then " + memory.statistics().totalPooled());
      }
    }
  }
}

package dev.tidepool;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

/** A manager whose options are refused leaves nothing behind that nobody could close. */
final class RefusedManagerTest {
  @TempDir private Path folder;

  private MemoryOptions refused() {
    return MemoryOptions.builder()
        .trace(folder.resolve("trace"))
        .spillDirectory(folder)
        .dumpDirectory(folder.resolve("nowhere"))
        .build();
  }

  private static Set<Thread> maintenance() {
    return Thread.getAllStackTraces().keySet().stream()
        .filter(thread -> thread.getName().equals("tidepool-maintenance"))
        .collect(Collectors.toSet());
  }

  /** The files of the folder that this process has open, deleted ones too. */
  private List<String> open() throws IOException {
    List<String> open = new ArrayList<>();
    try (Stream<Path> descriptors = Files.list(Path.of("/proc/self/fd"))) {
      for (Path descriptor : descriptors.toList()) {
        try {
          String file = Files.readSymbolicLink(descriptor).toString();
          if (file.startsWith(folder.toRealPath() + "/")) {
            open.add(file);
          }
        } catch (IOException closedMeanwhile) {
          // The one that lists them, for one.
        }
      }
    }
    return open;
  }

  @Test
  @EnabledOnOs(OS.LINUX)
  void noThreadAndNoOpenFile() throws IOException {
    Set<Thread> before = maintenance();
    assertThatIllegalArgumentException()
        .isThrownBy(() -> UnifiedMemoryManager.create(refused()))
        .withMessageContaining("dump-directory is");
    assertThat(before).containsAll(maintenance());
    assertThat(open()).isEmpty();
  }

  @Test
  @EnabledOnOs(OS.LINUX)
  void norInATidepoolThatGoesOn() throws IOException {
    MemoryOptions traced = MemoryOptions.builder().trace(folder.resolve("trace")).build();
    try (Tidepool tidepool = Tidepool.open(traced)) {
      Accelerator cpu = tidepool.accelerator("cpu:0");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> UnifiedMemoryManager.create(cpu, refused()));
      assertThat(open()).hasSize(1).first().asString().endsWith("trace");
      try (UnifiedMemoryManager memory =
          UnifiedMemoryManager.create(cpu, MemoryOptions.defaults())) {
        memory.allocate(ElementType.BYTE, 1).close();
      }
    }
    assertThat(open()).isEmpty();
  }
}

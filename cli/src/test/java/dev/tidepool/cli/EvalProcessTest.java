package dev.tidepool.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@DisplayName("eval as a process")
class EvalProcessTest {
  // Minutes of work, so that no machine ends it before it is interrupted.
  private static final String SLOW =
      "z = x; " + "z = sin(z) + cos(z) + tan(z) + pow(abs(z), 0.3); ".repeat(100);

  @TempDir Path folder;

  @EnabledOnOs({OS.LINUX, OS.MAC})
  @ParameterizedTest(name = "{0}")
  @CsvSource({"INT, 130", "TERM, 143"})
  void a_signal_leaves_no_output_and_no_temporary_file(String signal, int status)
      throws IOException, InterruptedException {
    Path x = NpyFiles.large(folder.resolve("x.npy"), 16 << 20);
    Path log = Files.createTempFile("tidepool", ".log");
    Process process =
        CommandProcess.start(
            log,
            Main.class,
            "eval",
            SLOW,
            "x=" + x,
            "z=" + folder.resolve("z.npy"),
            "--device",
            "cpu:0");
    try {
      await().atMost(Duration.ofSeconds(60)).until(() -> !process.isAlive() || files().size() > 1);
      assertThat(process.isAlive()).as(() -> read(log)).isTrue();
      new ProcessBuilder("kill", "-" + signal, Long.toString(process.pid())).start().waitFor();
      assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
      assertThat(process.exitValue()).isEqualTo(status);
      assertThat(files()).containsExactly("x.npy");
      assertThat(read(log)).isEmpty();
    } finally {
      process.destroyForcibly();
      Files.delete(log);
    }
  }

  @EnabledOnOs(OS.LINUX)
  @Test
  void the_memory_limit_bounds_what_is_resident_whatever_the_file()
      throws IOException, InterruptedException {
    long elements = 128L << 20;
    Path x = NpyFiles.large(folder.resolve("x.npy"), elements);
    Path z = folder.resolve("z.npy");
    Path log = folder.resolve("log");
    Process process =
        CommandProcess.start(
            log,
            MeasuredMain.class,
            "eval",
            "z = 2*x + 1",
            "x=" + x,
            "z=" + z,
            "--device",
            "cpu:0",
            "--memory-limit",
            "64m");
    assertThat(process.waitFor()).as(() -> read(log)).isZero();
    assertThat(Files.size(z)).isEqualTo(Files.size(x));
    String resident = read(log).replaceAll("(?s).*resident (\\d+).*", "$1");
    assertThat(Long.parseLong(resident) << 10).isLessThanOrEqualTo((64L + 300) << 20);
  }

  @EnabledOnOs({OS.LINUX, OS.MAC})
  @Test
  void a_disk_that_takes_no_more_ends_it_with_one_line_and_nothing_left()
      throws IOException, InterruptedException {
    Path x = NpyFiles.large(folder.resolve("x.npy"), 1 << 20);
    Path log = folder.resolve("log");
    // A limit on the size of files stands in for a full disk: both refuse a write in the middle.
    Process process =
        new ProcessBuilder(
                "sh",
                "-c",
                "ulimit -f 1000; exec \"$0\" --enable-native-access=ALL-UNNAMED -cp \"$1\""
                    + " dev.tidepool.cli.Main eval 'z = x' x=\"$2\" z=\"$3\" --device cpu:0",
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                System.getProperty("java.class.path"),
                x.toString(),
                folder.resolve("z.npy").toString())
            .redirectErrorStream(true)
            .redirectOutput(log.toFile())
            .start();
    assertThat(process.waitFor()).as(() -> read(log)).isEqualTo(ExitStatus.FAILED);
    assertThat(read(log).lines()).hasSize(1);
    assertThat(read(log)).startsWith("tidepool: cannot write").contains("z.npy");
    assertThat(files()).containsExactlyInAnyOrder("x.npy", "log");
  }

  private List<String> files() {
    try (Stream<Path> list = Files.list(folder)) {
      return list.map(file -> file.getFileName().toString()).toList();
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  private static String read(Path file) {
    try {
      return Files.readString(file);
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }
}

package dev.tidepool.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

@DisplayName("eval --resume")
class EvalResumeTest {
  private static final Pattern DONE = Pattern.compile("\\S+ done (\\d+) (\\d+)\n");
  private static final int HEADER_BYTES = 128;
  private static final float MARK = -12345;

  // Takes microseconds an element, so that it is not done within the second before the first note.
  private static final String SLOWLY_THE_SAME =
      "t = x; " + "t = sin(t) + cos(t) + pow(abs(t), 0.3); ".repeat(60) + "z = x + 0*t";

  @TempDir Path folder;
  private Path x;
  private Path z;
  private Path journal;

  @EnabledOnOs({OS.LINUX, OS.MAC})
  @Test
  void goes_on_after_a_kill_with_what_is_on_disk() throws IOException, InterruptedException {
    killInTheMiddle();
    // What was noted as done is not computed again: a mark in it stays.
    long marked = firstDone();
    mark(marked);
    Command.Result result = eval();

    assertThat(result.status()).as(result.err()).isZero();
    assertThat(result.err()).containsPattern("tidepool: goes on: [1-9]\\d* of \\d+ elements");
    assertThat(value(marked)).isEqualTo(MARK);
    mark(z, marked, marked % 1024);
    ByteBuffer bytes = ByteBuffer.wrap(Files.readAllBytes(z)).order(ByteOrder.LITTLE_ENDIAN);
    for (int i = 0; i < (bytes.capacity() - HEADER_BYTES) / 4; i++) {
      assertThat(bytes.getFloat(HEADER_BYTES + 4 * i)).isEqualTo(i % 1024);
    }
    assertThat(files()).containsExactlyInAnyOrder("x.npy", "z.npy");
  }

  @EnabledOnOs({OS.LINUX, OS.MAC})
  @Test
  void says_what_it_kept_when_a_signal_ends_it() throws IOException, InterruptedException {
    x = NpyFiles.large(folder.resolve("x.npy"), 1 << 25);
    z = folder.resolve("z.npy");
    journal = folder.resolve(".z.npy.tidepool-journal");
    Path log = folder.resolve("log");
    Process process = CommandProcess.start(log, Main.class, arguments());
    try {
      while (process.isAlive() && !isNoted()) {
        Thread.sleep(10);
      }
      process.destroy(); // SIGTERM, which ends a JVM as Ctrl-C does.
      process.waitFor();
      assertThat(log)
          .content()
          .isEqualTo(
              "tidepool: stopped; what is done is kept beside the results, and the same line with"
                  + " --resume goes on\n");
      assertThat(partial()).isPresent();
    } finally {
      process.destroyForcibly().waitFor();
    }
  }

  @EnabledOnOs({OS.LINUX, OS.MAC})
  @Test
  void leaves_nothing_where_its_journal_cannot_be_begun() throws IOException, InterruptedException {
    x = NpyFiles.large(folder.resolve("x.npy"), 1 << 10);
    // A limit on the size of files stands in for a full disk: both refuse the first byte.
    List<String> command =
        List.of(
            "sh",
            "-c",
            "ulimit -f 0; exec \"$@\"",
            "sh",
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "-XX:-UsePerfData",
            "--enable-native-access=ALL-UNNAMED",
            "-cp",
            System.getProperty("java.class.path"),
            Main.class.getName(),
            "eval",
            "z = x",
            "x=" + x,
            "z=" + folder.resolve("z.npy"),
            "--device",
            "cpu:0",
            "--resume");
    Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
    String output = new String(process.getInputStream().readAllBytes());

    assertThat(process.waitFor()).as(output).isEqualTo(ExitStatus.WRONG_ARGUMENTS);
    assertThat(output.lines()).hasSize(1);
    assertThat(output).startsWith("tidepool: cannot write").contains("z.npy");
    assertThat(files()).containsExactly("x.npy");
  }

  /**
   * Ends a run by a kill after its first note, with as much work as it takes for there to be one.
   */
  private void killInTheMiddle() throws IOException, InterruptedException {
    x = folder.resolve("x.npy");
    z = folder.resolve("z.npy");
    journal = folder.resolve(".z.npy.tidepool-journal");
    Path log = Files.createTempFile("tidepool", ".log");
    for (long elements = 1 << 18; ; elements *= 2) {
      NpyFiles.large(x, elements);
      Process process = CommandProcess.start(log, Main.class, arguments());
      try {
        while (process.isAlive() && !isNoted()) {
          Thread.sleep(10);
        }
        process.destroyForcibly();
        process.waitFor();
        if (!Files.exists(z) && partial().isPresent()) {
          assertThat(isNoted()).as(Files.readString(log)).isTrue();
          return;
        }
        // It was so quick that the kill met its end: more work.
        assertThat(elements).as(Files.readString(log)).isLessThan(1L << 26);
        Files.deleteIfExists(z);
        Files.deleteIfExists(journal);
      } finally {
        process.destroyForcibly().waitFor();
        Files.deleteIfExists(log);
      }
    }
  }

  private String[] arguments() {
    return new String[] {
      "eval", SLOWLY_THE_SAME, "x=" + x, "z=" + z, "--device", "cpu:0", "--chunk", "16k", "--resume"
    };
  }

  private Command.Result eval() {
    return Command.run(arguments());
  }

  private boolean isNoted() throws IOException {
    return Files.exists(journal) && DONE.matcher(Files.readString(journal)).find();
  }

  private long firstDone() throws IOException {
    Matcher done = DONE.matcher(Files.readString(journal));
    assertThat(done.find()).isTrue();
    return Long.parseLong(done.group(1));
  }

  private void mark(long element) throws IOException {
    mark(partial().orElseThrow(), element, MARK);
  }

  private Optional<Path> partial() throws IOException {
    try (Stream<Path> list = Files.list(folder)) {
      return list.filter(file -> file.toString().endsWith(".partial")).findFirst();
    }
  }

  private static void mark(Path file, long element, float value) throws IOException {
    try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
      ByteBuffer bytes = ByteBuffer.allocate(4).order(ByteOrder.LITTLE_ENDIAN).putFloat(0, value);
      assertThat(channel.write(bytes, HEADER_BYTES + 4 * element)).isEqualTo(4);
    }
  }

  private float value(long element) throws IOException {
    ByteBuffer bytes = ByteBuffer.wrap(Files.readAllBytes(z)).order(ByteOrder.LITTLE_ENDIAN);
    return bytes.getFloat((int) (HEADER_BYTES + 4 * element));
  }

  private List<String> files() throws IOException {
    try (Stream<Path> list = Files.list(folder)) {
      return list.map(file -> file.getFileName().toString()).toList();
    }
  }
}

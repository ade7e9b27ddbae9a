package dev.tidepool.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

@DisplayName("The result of a command")
@EnabledOnOs(OS.LINUX)
class OutputTest {
  @TempDir Path folder;

  @Test
  void that_its_output_did_not_take_is_a_failure() throws IOException, InterruptedException {
    Process process = sum(new ProcessBuilder().redirectOutput(Path.of("/dev/full").toFile()));
    assertThat(process.waitFor()).isEqualTo(ExitStatus.FAILED);
    assertThat(Files.readString(errors()).lines())
        .last()
        .asString()
        .startsWith("tidepool: the output took not all of the result");
  }

  @Test
  void whose_reader_has_seen_enough_is_none() throws IOException, InterruptedException {
    Process process = sum(new ProcessBuilder());
    process.getInputStream().close();
    assertThat(process.waitFor()).as(Files.readString(errors())).isZero();
    assertThat(Files.readString(errors())).doesNotContain("output");
  }

  private Process sum(ProcessBuilder builder) throws IOException {
    Path x = NpyFiles.floats(folder.resolve("x.npy"), 1, 2, 3);
    return builder
        .command(
            List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--enable-native-access=ALL-UNNAMED",
                "-cp",
                System.getProperty("java.class.path"),
                Main.class.getName(),
                "eval",
                "s = sum(x)",
                "x=" + x,
                "--device",
                "cpu:0"))
        .redirectError(errors().toFile())
        .start();
  }

  private Path errors() {
    return folder.resolve("errors");
  }
}

package dev.tidepool.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The command where this machine is taken for another system, and no native function is found. */
class OtherSystemsTest {
  @TempDir Path folder;

  @ParameterizedTest
  @CsvSource({"Mac OS X, aarch64", "Windows 11, amd64", "FreeBSD, amd64"})
  void finds_the_cpu_and_tells_what_is_absent(String name, String architecture) throws Exception {
    Path output = folder.resolve("out.json");
    Process process =
        new ProcessBuilder(
                List.of(
                    Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                    "-XX:TieredStopAtLevel=1",
                    "--illegal-native-access=deny",
                    "-cp",
                    System.getProperty("java.class.path"),
                    Named.class.getName(),
                    name,
                    architecture))
            .redirectErrorStream(true)
            .redirectOutput(output.toFile())
            .start();
    assertThat(process.waitFor(2, TimeUnit.MINUTES)).isTrue();
    String text = Files.readString(output);
    assertThat(process.exitValue()).as(text).isZero();
    JsonObject report = JsonParser.parseString(text).getAsJsonObject();
    assertThat(report.getAsJsonArray("accelerators").asList())
        .extracting(device -> device.getAsJsonObject().get("id").getAsString())
        .containsExactly("cpu:0");
    assertThat(report.getAsJsonArray("notes")).isNotEmpty();
    JsonObject platform = report.getAsJsonObject("platform");
    assertThat(platform.get("system").getAsString()).startsWith(name);
    assertThat(platform.get("pageLocking").getAsBoolean()).isFalse();
    assertThat(platform.get("nativeAllocation").getAsBoolean()).isFalse();
    assertThat(platform.get("sharedMemory").getAsString()).contains("files on disk");
  }

  /** {@code tidepool info --json} of a system that is named by the arguments. */
  static final class Named {
    private Named() {}

    public static void main(String[] arguments) {
      System.setProperty("os.name", arguments[0]);
      System.setProperty("os.arch", arguments[1]);
      Main.main(new String[] {"info", "--json"});
    }
  }
}

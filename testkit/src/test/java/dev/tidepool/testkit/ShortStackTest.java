package dev.tidepool.testkit;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A thread that runs out of stack anywhere in a call leaves every buffer usable, and what is closed
 * gets closed.
 */
@Timeout(180)
class ShortStackTest {
  @ParameterizedTest
  @ValueSource(strings = {"cpu:0", "simulated:0"})
  void everyCallLeavesTheBuffersUsable(String accelerator) throws Exception {
    Process program =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "--enable-native-access=ALL-UNNAMED",
                "-cp",
                System.getProperty("java.class.path"),
                ShortStack.class.getName(),
                accelerator)
            .redirectErrorStream(true)
            .start();
    try {
      String output = new String(program.getInputStream().readAllBytes(), UTF_8);
      assertThat(output.lines().toList()).endsWith(ShortStack.DONE);
    } finally {
      program.destroyForcibly();
    }
  }
}

package dev.tidepool.cli;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.condition.OS;

/** The command as a process of its own, as the launcher would start it. */
final class CommandProcess {
  private CommandProcess() {}

  /** Starts a main class of this class path; what it prints goes to a file. */
  static Process start(Path log, Class<?> main, String... arguments) throws IOException {
    return start(log, Map.of(), main, arguments);
  }

  /** Starts it likewise, with some more variables in its environment. */
  static Process start(Path log, Map<String, String> more, Class<?> main, String... arguments)
      throws IOException {
    List<String> command = new ArrayList<>();
    if (OS.LINUX.isCurrentOs()) {
      // A build in the background ignores interrupts, and so would whatever it starts.
      command.addAll(List.of("env", "--default-signal=INT"));
    }
    command.addAll(
        List.of(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "-XX:+UseSerialGC",
            "-Xmx1g",
            "--enable-native-access=ALL-UNNAMED",
            "-cp",
            System.getProperty("java.class.path"),
            main.getName()));
    command.addAll(List.of(arguments));
    ProcessBuilder process =
        new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(log.toFile());
    process.environment().putAll(more);
    return process.start();
  }
}

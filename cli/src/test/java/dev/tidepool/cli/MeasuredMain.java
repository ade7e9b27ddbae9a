package dev.tidepool.cli;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Runs the command and prints the most memory that the process ever had resident, in KiB. */
final class MeasuredMain {
  private MeasuredMain() {}

  public static void main(String[] arguments) throws IOException {
    int status = Main.run(System.out, System.err, arguments);
    for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
      if (line.startsWith("VmHWM:")) {
        System.out.println("resident " + line.replaceAll("\\D", ""));
      }
    }
    System.exit(status);
  }
}

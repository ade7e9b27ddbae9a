package dev.tidepool.cpu;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;

/** What the processor calls itself. */
final class CpuName {
  private static final Path CPU_INFO = Path.of("/proc/cpuinfo");

  private CpuName() {}

  /** The model's name where Linux tells it, else the architecture's. */
  static String read() {
    String architecture = System.getProperty("os.arch");
    if (!Files.isReadable(CPU_INFO)) {
      return architecture;
    }
    try (Stream<String> lines = Files.lines(CPU_INFO)) {
      return lines
          .filter(line -> line.startsWith("model name"))
          .map(line -> line.substring(line.indexOf(':') + 1).strip())
          .findFirst()
          .orElse(architecture);
    } catch (IOException e) {
      return architecture;
    }
  }
}

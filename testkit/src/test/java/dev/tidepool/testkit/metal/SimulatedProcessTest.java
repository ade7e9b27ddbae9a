package dev.tidepool.testkit.metal;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Another process, which has its devices from the environment and leaves a report. */
class SimulatedProcessTest {
  @TempDir Path folder;

  @BeforeEach
  void needsTheSimulation() {
    SimulatedMetal.orSkip();
  }

  /** A program that leaves a buffer and names the devices. */
  static final class Careless {
    public static void main(String[] arguments) {
      Messages metal = new Messages(Path.of(arguments[0]));
      long all = metal.call("MTLCopyAllDevices");
      for (long i = 0; i < metal.send(all, "count"); i++) {
        long device = metal.send(all, "objectAtIndex:", i);
        System.out.println(
            metal.send(device, "maxBufferLength") + " " + metal.ask(device, "hasUnifiedMemory"));
      }
      metal.buffer(metal.send(all, "objectAtIndex:", 0L), 64, Messages.SHARED);
      metal.release(all);
      metal.release(all);
    }
  }

  @Test
  void theEnvironmentSetsDevicesAndNamesTheReport() throws IOException, InterruptedException {
    Path report = folder.resolve("report");
    ProcessBuilder builder =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:+UseSerialGC",
                "--enable-native-access=ALL-UNNAMED",
                "-cp",
                classPath(),
                Careless.class.getName(),
                SimulatedMetal.orSkip().library().toString())
            .directory(folder.toFile())
            .redirectErrorStream(true);
    builder
        .environment()
        .put("TIDEPOOL_METAL_SIM", "devices=2 memory=1048576 1.unified=0 1.max_buffer=4096");
    builder.environment().put("TIDEPOOL_METAL_SIM_REPORT", report.toString());
    Process process = builder.start();
    try {
      String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
      assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
      assertThat(output).isEqualTo("524288 true\n4096 false\n");
    } finally {
      process.destroyForcibly();
    }
    assertThat(Files.readAllLines(report))
        .satisfiesExactly(
            line -> assertThat(line).contains("release", "released: NSArray"),
            line ->
                assertThat(line)
                    .isEqualTo(
                        "not released at exit: MTLBuffer of 64 bytes, shared, on device 0,"
                            + " retained 1 time"));
  }

  private static String classPath() {
    return Stream.of(System.getProperty("java.class.path").split(File.pathSeparator))
        .map(entry -> Path.of(entry).toAbsolutePath().toString())
        .collect(Collectors.joining(File.pathSeparator));
  }
}

package dev.tidepool;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * What is asked of a buffer over a file that was truncated fails with a {@link TransferException},
 * in compiled code too, and the buffer can be closed. Each operation has a virtual machine of its
 * own, so that it is compiled as a whole, and because that one must not die.
 */
@EnabledOnOs(OS.LINUX)
class VanishedFileTest {
  private static final int ELEMENTS = 16 << 10;
  private static final int WARM_UP = 150_000;

  @ParameterizedTest
  @ValueSource(strings = {"copy from a segment", "copy of a slice"})
  void compiledCodeFailsWithATransferException(String operation) throws Exception {
    Process process =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--enable-native-access=ALL-UNNAMED",
                "-XX:-CreateCoredumpOnCrash",
                "-XX:ErrorFile=/dev/null",
                "-cp",
                System.getProperty("java.class.path"),
                VanishedFileTest.class.getName(),
                operation)
            .redirectErrorStream(true)
            .start();
    boolean ended = process.waitFor(60, TimeUnit.SECONDS);
    if (!ended) {
      process.destroyForcibly();
    }
    assertThat(ended).as("it ends by itself").isTrue();
    String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(process.exitValue()).as(output).isZero();
    assertThat(output).contains(operation + " failed as it should");
  }

  public static void main(String[] arguments) throws IOException {
    try (Tidepool tidepool = Tidepool.open();
        UnifiedBuffer<float[]> other =
            tidepool.memory(tidepool.accelerator("cpu:0")).allocate(ElementType.FLOAT, ELEMENTS)) {
      UnifiedMemoryManager memory = tidepool.memory(tidepool.accelerator("cpu:0"));
      Consumer<UnifiedBuffer<float[]>> operation = operations(other).get(arguments[0]);
      for (int round = 0; round < 4; round++) {
        expectFailure(memory, operation);
      }
    }
    System.out.println(arguments[0] + " failed as it should");
  }

  private static Map<String, Consumer<UnifiedBuffer<float[]>>> operations(
      UnifiedBuffer<float[]> other) {
    MemorySegment segment = Arena.global().allocate(8);
    Map<String, Consumer<UnifiedBuffer<float[]>>> all = new LinkedHashMap<>();
    all.put("copy from a segment", mapped -> mapped.copyFrom(segment, 0));
    all.put("copy of a slice", mapped -> other.copyFrom(mapped.slice(0, 2)));
    return all;
  }

  private static void expectFailure(
      UnifiedMemoryManager memory, Consumer<UnifiedBuffer<float[]>> operation) throws IOException {
    Path file = Files.createTempFile("vanishing", ".bytes");
    try (FileChannel channel =
        FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
      channel.write(ByteBuffer.allocate(4 * ELEMENTS));
      try (UnifiedBuffer<float[]> mapped =
          memory.map(file, ElementType.FLOAT, MapMode.READ_WRITE)) {
        for (int i = 0; i < WARM_UP; i++) {
          operation.accept(mapped);
        }
        channel.truncate(0);
        operation.accept(mapped);
        throw new AssertionError("nothing was found wrong");
      } catch (TransferException e) {
        // As it should be.
      }
    } finally {
      Files.delete(file);
    }
  }
}

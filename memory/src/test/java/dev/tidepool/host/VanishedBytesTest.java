package dev.tidepool.host;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.ElementType;
import dev.tidepool.TransferException;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;

/** In a virtual machine of its own, which must not die. */
@EnabledOnOs(OS.LINUX)
class VanishedBytesTest {
  private static final int BYTES = 64 << 10;

  @Test
  void everyOperationOnATruncatedFileFailsWithATransferException() throws Exception {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    if (Boolean.getBoolean("tidepool.test.vectors")) {
      command.add("--add-modules=jdk.incubator.vector");
    }
    command.addAll(
        List.of(
            "--enable-native-access=ALL-UNNAMED",
            "-XX:-CreateCoredumpOnCrash",
            "-XX:ErrorFile=/dev/null",
            "-cp",
            System.getProperty("java.class.path"),
            VanishedBytesTest.class.getName()));
    Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
    String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(process.waitFor()).as(output).isZero();
    assertThat(output).contains(operations().size() + " operations failed as they should");
  }

  public static void main(String[] arguments) throws IOException {
    for (Map.Entry<String, Consumer<MemorySegment>> operation : operations().entrySet()) {
      // Interpreted, then compiled: the error comes at different places.
      for (int warmUp : new int[] {0, 1, 200_000}) {
        expectFailure(operation.getKey(), operation.getValue(), warmUp);
      }
    }
    System.out.println(operations().size() + " operations failed as they should");
  }

  private static void expectFailure(String name, Consumer<MemorySegment> operation, int warmUp)
      throws IOException {
    Path file = Files.createTempFile("vanishing", ".bytes");
    try (Arena arena = Arena.ofConfined();
        FileChannel channel =
            FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
      MemorySegment memory = channel.map(FileChannel.MapMode.READ_WRITE, 0, BYTES, arena);
      for (int i = 0; i < warmUp; i++) {
        operation.accept(memory.asSlice(0, i % 1000 == 0 ? BYTES : 1024));
      }
      channel.truncate(0);
      operation.accept(memory);
    } catch (TransferException e) {
      return;
    } finally {
      Files.delete(file);
    }
    throw new AssertionError(name + " after " + warmUp + " calls found nothing wrong");
  }

  private static Map<String, Consumer<MemorySegment>> operations() {
    Arena arena = Arena.ofAuto();
    MemorySegment other = arena.allocate(BYTES);
    MemorySegment wide = arena.allocate(2 * BYTES);
    long[] indices = new long[128];
    Map<String, Consumer<MemorySegment>> all = new LinkedHashMap<>();
    all.put("copy from", memory -> MemoryOperations.copy(memory, other));
    // Over before compiled code looks for the error.
    all.put("copy of eight bytes", memory -> MemoryOperations.copy(memory, 0, other, 0, 8));
    all.put(
        "copy to", memory -> MemoryOperations.copy(other.asSlice(0, memory.byteSize()), memory));
    all.put("fill", memory -> MemoryOperations.fill(memory, (byte) 0));
    all.put("fill longs", memory -> MemoryOperations.fill(memory, 0L));
    all.put(
        "mismatch",
        memory -> MemoryOperations.mismatch(memory, other.asSlice(0, memory.byteSize())));
    all.put(
        "compare",
        memory ->
            MemoryOperations.compare(
                ElementType.FLOAT, other.asSlice(0, memory.byteSize()), memory));
    all.put("swap", memory -> MemoryOperations.swapBytes(4, memory));
    all.put(
        "convert from",
        memory -> MemoryOperations.convert(ElementType.FLOAT, memory, ElementType.DOUBLE, wide));
    all.put(
        "convert to",
        memory ->
            MemoryOperations.convert(
                ElementType.DOUBLE, wide.asSlice(0, memory.byteSize()), ElementType.FLOAT, memory));
    all.put("gather", memory -> MemoryOperations.gather(8, memory, indices, other));
    all.put(
        "gather by vanished indices",
        memory -> MemoryOperations.gather(1, wide, ElementType.LONG, memory, other));
    all.put(
        "scatter", memory -> MemoryOperations.scatter(8, other.asSlice(0, 1024), indices, memory));
    all.put("sum", memory -> MemoryOperations.sum(ElementType.FLOAT, memory));
    all.put("sum of longs", memory -> MemoryOperations.sumAsLong(ElementType.LONG, memory));
    all.put(
        "dot",
        memory ->
            MemoryOperations.dot(ElementType.DOUBLE, other.asSlice(0, memory.byteSize()), memory));
    all.put("fields", memory -> MemoryOperations.readField(memory, 16, 4, 8, other));
    return all;
  }
}

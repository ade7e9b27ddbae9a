package dev.tidepool.lz4;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.ElementType;
import dev.tidepool.MapMode;
import dev.tidepool.TransferException;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.spi.Discovery;
import java.io.IOException;
import java.io.OutputStream;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;

/**
 * What takes memory from users, while the file under that memory is truncated: in a virtual machine
 * of its own, which must not die.
 */
@EnabledOnOs(OS.LINUX)
class VanishedFileTest {
  private static final int BYTES = 1 << 20;
  private static final int BLOCK = 4096;

  @Test
  void isAnErrorAndTheProcessLives() throws Exception {
    Process process =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xmx256m",
                "--enable-native-access=ALL-UNNAMED",
                "-XX:-CreateCoredumpOnCrash",
                "-XX:ErrorFile=/dev/null",
                "-cp",
                System.getProperty("java.class.path"),
                VanishedFileTest.class.getName())
            .redirectErrorStream(true)
            .start();
    String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);

    assertThat(process.waitFor()).as(output).isZero();
    assertThat(output).contains("all failed as they should");
  }

  private interface Operation {
    void run(FileChannel file) throws IOException;
  }

  public static void main(String[] arguments) throws IOException {
    expectFailure(
        file -> {
          try (Arena arena = Arena.ofShared()) {
            MemorySegment mapped = file.map(FileChannel.MapMode.READ_WRITE, 0, BYTES, arena);
            file.truncate(0);
            new Lz4FrameWriter(
                    Channels.newChannel(OutputStream.nullOutputStream()), Lz4Frame.of(BYTES))
                .write(mapped);
          }
        });
    for (boolean stored : new boolean[] {false, true}) {
      expectDecodingFails(true, stored);
      expectDecodingFails(false, stored);
    }
    System.out.println("all failed as they should");
  }

  /** Blocks come from a mapped file, or go there. */
  private static void expectDecodingFails(boolean source, boolean stored) throws IOException {
    Path path = Files.createTempFile("vanishing", ".bytes");
    byte[] block = stored ? new byte[BLOCK] : Samples.compressed(new byte[BLOCK]);
    byte[] content = new byte[BYTES];
    System.arraycopy(block, 0, content, 0, block.length);
    Files.write(path, content);
    List<Lz4DeviceDecoder.Block> blocks = new ArrayList<>();
    blocks.add(new Lz4DeviceDecoder.Block(0, block.length, 0, BLOCK, stored));
    try (UnifiedMemoryManager memory =
            Discovery.using(List.of(), () -> UnifiedMemoryManager.create());
        UnifiedBuffer<byte[]> mapped = memory.map(path, ElementType.BYTE, MapMode.READ_WRITE);
        UnifiedBuffer<byte[]> other = memory.copyOf(content);
        FileChannel file = FileChannel.open(path, StandardOpenOption.WRITE)) {
      Lz4DeviceDecoder decoder = Lz4DeviceDecoder.of(memory).orElseThrow();
      UnifiedBuffer<byte[]> from = source ? mapped : other;
      UnifiedBuffer<byte[]> to = source ? other : mapped;
      assertThat(decoder.decode(from, blocks, to)).containsExactly(BLOCK);
      file.truncate(0);
      expectFailure(_ -> decoder.decode(from, blocks, to));
    } catch (TransferException _) {
      // Closing a buffer whose file vanished may fail too.
    } finally {
      Files.delete(path);
    }
  }

  private static void expectFailure(Operation operation) throws IOException {
    Path path = Files.createTempFile("vanishing", ".bytes");
    try (FileChannel file =
        FileChannel.open(path, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
      operation.run(file);
    } catch (TransferException | InternalError e) {
      System.out.println("failed with " + e);
      return;
    } finally {
      Files.delete(path);
    }
    throw new AssertionError("nothing failed");
  }
}

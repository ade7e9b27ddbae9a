package dev.tidepool.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.lz4.Lz4Frame;
import dev.tidepool.lz4.Lz4FrameWriter;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@DisplayName("eval of compressed files")
class EvalCompressedTest {
  private static final int ELEMENTS = 1_000_003;

  @TempDir Path folder;

  private Path compressed(Path plain, int blockBytes) throws IOException {
    byte[] bytes = Files.readAllBytes(plain);
    Path file = folder.resolve("x.npy.lz4");
    try (FileChannel channel =
        FileChannel.open(file, StandardOpenOption.WRITE, StandardOpenOption.CREATE_NEW)) {
      Lz4Frame frame = Lz4Frame.of(bytes.length).withBlockBytes(blockBytes);
      Lz4FrameWriter writer = new Lz4FrameWriter(channel, frame);
      writer.write(MemorySegment.ofArray(bytes));
      writer.end();
    }
    return file;
  }

  private Command.Result eval(Path x, Path z) {
    return Command.run(
        "eval", "z = sqrt(x) + 1", "x=" + x, "z=" + z, "--device", "cpu:0", "--chunk", "100k");
  }

  @ParameterizedTest
  @ValueSource(ints = {64 << 10, 4 << 20})
  void gives_the_bytes_that_the_plain_file_gives(int blockBytes) throws IOException {
    Path plain = NpyFiles.large(folder.resolve("x.npy"), ELEMENTS);
    Path file = compressed(plain, blockBytes);
    assertThat(Files.size(file)).isLessThan(Files.size(plain) / 5);

    Command.Result result = eval(file, folder.resolve("z.npy"));

    assertThat(result.err()).isEmpty();
    assertThat(result.status()).isZero();
    assertThat(result.out()).startsWith("1,000,003 elements, 7.63 MiB in ");
    assertThat(eval(plain, folder.resolve("expected.npy")).status()).isZero();
    assertThat(folder.resolve("z.npy")).hasSameBinaryContentAs(folder.resolve("expected.npy"));
  }

  @Test
  void that_are_cut_are_one_line_and_leave_no_output() throws IOException {
    Path file = compressed(NpyFiles.large(folder.resolve("x.npy"), ELEMENTS), 64 << 10);
    byte[] bytes = Files.readAllBytes(file);
    Files.write(file, Arrays.copyOf(bytes, bytes.length / 2));

    Command.Result result = eval(file, folder.resolve("z.npy"));

    assertThat(result.status()).isEqualTo(2);
    assertThat(result.err())
        .hasLineCount(1)
        .startsWith("tidepool: cannot read " + file + ": it is cut within block ");
    assertThat(folder.resolve("z.npy")).doesNotExist();
  }

  @Test
  void whose_checksum_is_wrong_are_one_line_and_leave_no_output() throws IOException {
    Path file = compressed(NpyFiles.large(folder.resolve("x.npy"), ELEMENTS), 64 << 10);
    byte[] bytes = Files.readAllBytes(file);
    bytes[bytes.length - 1] ^= 1;
    Files.write(file, bytes);

    Command.Result result = eval(file, folder.resolve("z.npy"));

    assertThat(result.status()).isEqualTo(1);
    assertThat(result.err())
        .hasLineCount(1)
        .startsWith("tidepool: cannot read " + file + ": it is damaged: the checksum of blocks 0 ");
    assertThat(folder.resolve("z.npy")).doesNotExist();
    assertThat(folder.toFile().list()).containsExactlyInAnyOrder("x.npy", "x.npy.lz4");
  }
}

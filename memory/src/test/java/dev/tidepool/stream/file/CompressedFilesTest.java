package dev.tidepool.stream.file;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.TransferException;
import dev.tidepool.stream.NpyFormatException;
import dev.tidepool.stream.NpyReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HexFormat;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What happens without a codec; {@code lz4/} tests what happens with one. */
class CompressedFilesTest {
  @TempDir Path folder;

  private Path file(String start) throws IOException {
    return Files.write(folder.resolve("x.npy.lz4"), HexFormat.of().parseHex(start));
  }

  @ParameterizedTest
  @CsvSource({
    "04224d18, true",
    "02214c18, true",
    "502a4d18, true",
    "5f2a4d1800, true",
    "602a4d18, false",
    "934e554d, false",
    "04224d, false",
    "'', false"
  })
  void aFileIsCompressedIfItBeginsSo(String start, boolean compressed) throws IOException {
    try (PositionalFile file = PositionalFile.open(file(start))) {
      assertThat(CompressedFiles.isCompressed(file)).isEqualTo(compressed);
    }
  }

  @Test
  void aCompressedFileWithoutTheModuleIsAnErrorThatNamesTheArtifact() throws IOException {
    Path file = file("04224d1864");

    assertThatThrownBy(() -> NpyReader.open(file))
        .isInstanceOf(TransferException.class)
        .hasMessage(
            "cannot read %s: it is compressed by lz4, and the artifact dev.tidepool:tidepool-lz4 is not on the class path or module path; add it, or decompress the file with lz4 -d"
                .formatted(file));
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "04224d"})
  void aFileThatIsTooShortToTellIsNoNpyFile(String start) throws IOException {
    Path file = file(start);

    assertThatThrownBy(() -> NpyReader.open(file)).isInstanceOf(NpyFormatException.class);
  }
}

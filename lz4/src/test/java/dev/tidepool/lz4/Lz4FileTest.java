package dev.tidepool.lz4;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.tidepool.TransferException;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.codec.ByteSource;
import dev.tidepool.stream.NpyFormatException;
import dev.tidepool.stream.NpyHeader;
import dev.tidepool.stream.NpyReader;
import dev.tidepool.stream.NpyType;
import dev.tidepool.stream.NpyWriter;
import dev.tidepool.stream.Pipeline;
import dev.tidepool.stream.StreamOptions;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.OptionalLong;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Stream;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

@DisplayName("A compressed .npy file")
class Lz4FileTest {
  private static final long SEED = Samples.SEED;
  private static final int ELEMENTS = 60_500;
  private static final List<String> FIXTURES =
      List.of("default", "small-blocks", "linked", "unchecked", "high");

  @TempDir Path folder;

  /** What make_fixtures.py lets NumPy save. */
  private static float[] expected() {
    float[] values = new float[ELEMENTS];
    for (int i = 0; i < 60_000; i++) {
      values[i] = i % 100;
    }
    int state = 1;
    for (int i = 60_000; i < ELEMENTS; i++) {
      state = state * 1664525 + 1013904223;
      values[i] = Float.intBitsToFloat(state >>> 9 | 0x3F800000);
    }
    return values;
  }

  private static byte[] fixture(String name) throws IOException {
    try (var in = Lz4Frame.class.getResourceAsStream(name + ".npy.lz4")) {
      return in.readAllBytes();
    }
  }

  private NpyReader open(byte[] file) throws IOException {
    return NpyReader.open(Files.write(folder.resolve("a.npy.lz4"), file));
  }

  private static float[] read(NpyReader reader, long from, int count) {
    float[] values = new float[count];
    reader.read(from, MemorySegment.ofArray(values));
    return values;
  }

  @ParameterizedTest
  @ValueSource(strings = {"default", "small-blocks", "linked", "unchecked", "high"})
  void that_the_lz4_command_wrote_has_the_elements_that_NumPy_saved(String name)
      throws IOException {
    try (NpyReader reader = open(fixture(name))) {
      assertThat(reader.header().shapeText()).isEqualTo("(60500,)");
      assertThat(read(reader, 0, ELEMENTS)).isEqualTo(expected());
      reader.verify();
      assertThatThrownBy(() -> read(reader, 1, ELEMENTS))
          .isInstanceOf(IndexOutOfBoundsException.class);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"default", "small-blocks", "linked", "unchecked", "high"})
  void is_read_anywhere_by_several_threads(String name) throws Exception {
    float[] expected = expected();
    try (NpyReader reader = open(fixture(name));
        ExecutorService threads = Executors.newFixedThreadPool(4)) {
      List<Future<?>> done = new ArrayList<>();
      for (int thread = 0; thread < 4; thread++) {
        Random random = new Random(SEED + thread);
        done.add(
            threads.submit(
                () -> {
                  for (int i = 0; i < 50; i++) {
                    int from = random.nextInt(ELEMENTS);
                    int count = random.nextInt(Math.min(3000, ELEMENTS - from));
                    assertThat(read(reader, from, count))
                        .as("seed %d", SEED)
                        .isEqualTo(Arrays.copyOfRange(expected, from, from + count));
                  }
                }));
      }
      for (Future<?> future : done) {
        future.get();
      }
      reader.verify();
    }
  }

  @Test
  void is_read_in_whatever_blocks_and_frames_it_was_written() throws IOException {
    byte[] npy = npy(expected());
    for (int blockBytes = 64 << 10; blockBytes <= 4 << 20; blockBytes *= 4) {
      ByteArrayOutputStream file = new ByteArrayOutputStream();
      Lz4Frame plain = new Lz4Frame(true, true, true, OptionalLong.empty(), blockBytes);
      // A frame of nothing, one of other data, and three that share the array between them.
      file.write(Samples.frame(plain, new byte[0]));
      file.write(new byte[] {0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3});
      file.write(Samples.frame(plain, Arrays.copyOf(npy, 50)));
      file.write(
          Samples.frame(plain.withBlockChecksums(false), Arrays.copyOfRange(npy, 50, 70_001)));
      file.write(
          Samples.frame(
              Lz4Frame.of(npy.length - 70_001).withContentChecksum(false),
              Arrays.copyOfRange(npy, 70_001, npy.length)));
      try (NpyReader reader = open(file.toByteArray())) {
        assertThat(read(reader, 0, ELEMENTS)).isEqualTo(expected());
        reader.verify();
      }
    }
  }

  @Test
  void whose_blocks_are_not_full_is_read_at_the_right_places() throws IOException {
    byte[] npy = npy(expected());
    // Blocks that are stored, of 1000 bytes each in a frame whose blocks may have 65536.
    ByteArrayOutputStream file = new ByteArrayOutputStream();
    Lz4Frame header = new Lz4Frame(true, false, false, OptionalLong.of(npy.length), 64 << 10);
    file.write(header.encode());
    for (int at = 0; at < npy.length; at += 1000) {
      int count = Math.min(1000, npy.length - at);
      file.write(Samples.number(count | 1 << 31));
      file.write(npy, at, count);
    }
    file.write(Samples.number(0));
    try (NpyReader reader = open(file.toByteArray())) {
      assertThat(read(reader, 30_000, 30_500))
          .isEqualTo(Arrays.copyOfRange(expected(), 30_000, ELEMENTS));
      assertThat(read(reader, 0, 30_000)).isEqualTo(Arrays.copyOf(expected(), 30_000));
    }
  }

  @Test
  void that_is_cut_anywhere_is_an_error_that_names_it() throws IOException {
    for (String name : FIXTURES) {
      byte[] file = fixture(name);
      for (int length = 4; length < file.length; length += 1 + length / 20) {
        byte[] cut = Arrays.copyOf(file, length);

        assertThatThrownBy(() -> readAll(cut))
            .as("%s cut to %d bytes", name, length)
            .isInstanceOfAny(Lz4FormatException.class, NpyFormatException.class)
            .hasMessageContaining("a.npy.lz4")
            .hasMessageContaining("cut");
      }
    }
  }

  @Test
  void whose_bytes_are_changed_is_an_error_or_still_right() throws IOException {
    float[] expected = expected();
    Random random = new Random(SEED);
    for (int round = 0; round < 150; round++) {
      String name = FIXTURES.get(round % FIXTURES.size());
      byte[] file = fixture(name);
      int at = 4 + random.nextInt(file.length - 4);
      file[at] ^= (byte) (1 << random.nextInt(8));
      try {
        // Without any checksum, other bytes are all that one can get.
        float[] values = readAll(file);
        if (!name.equals("unchecked")) {
          assertThat(values).as("%s, seed %d, byte %d", name, SEED, at).isEqualTo(expected);
        }
      } catch (TransferException | NpyFormatException e) {
        assertThat(e).hasMessageContaining("a.npy.lz4");
      }
    }
  }

  @Test
  void with_a_wrong_checksum_names_the_block() throws IOException {
    byte[] block = fixture("small-blocks");
    block[block.length / 2] ^= 1;
    assertThatThrownBy(() -> readAll(block))
        .isInstanceOf(Lz4FormatException.class)
        .hasMessageContaining("a.npy.lz4: block 3 is damaged: its checksum is wrong");

    byte[] content = fixture("default");
    content[content.length - 1] ^= 1;
    assertThatThrownBy(() -> readAll(content))
        .isInstanceOf(Lz4FormatException.class)
        .hasMessageContaining("it is damaged: the checksum of blocks 0 to 0 is wrong");
  }

  @Test
  void that_lies_about_its_size_says_what_it_holds() throws IOException {
    byte[] npy = npy(expected());
    for (long lie : new long[] {npy.length - 1, npy.length + 1, 1L << 40}) {
      Lz4Frame honest = Lz4Frame.of(npy.length).withContentChecksum(false);
      byte[] file = Samples.frame(honest, npy);
      byte[] header = Lz4Frame.of(lie).withContentChecksum(false).encode();
      System.arraycopy(header, 0, file, 0, header.length);

      assertThatThrownBy(() -> readAll(file))
          .isInstanceOfAny(Lz4FormatException.class, NpyFormatException.class)
          .hasMessageContaining("a.npy.lz4");
    }
    byte[] shorter =
        Samples.frame(Lz4Frame.of(1000).withContentChecksum(false), Arrays.copyOf(npy, 1000));
    assertThatThrownBy(() -> readAll(shorter))
        .isInstanceOf(NpyFormatException.class)
        .hasMessageContaining("it is truncated");
  }

  @Test
  void is_checked_to_its_end_even_if_only_a_part_was_read() throws IOException {
    byte[] file = fixture("linked");
    file[file.length - 1] ^= 1;
    try (NpyReader reader = open(file)) {
      assertThatThrownBy(reader::verify).isInstanceOf(Lz4FormatException.class);
      assertThatThrownBy(reader::verify).isInstanceOf(Lz4FormatException.class);
    }
  }

  @Test
  void that_is_damaged_leaves_no_result_of_a_pipeline() throws IOException {
    byte[] npy = npy(expected());
    byte[] behind = Samples.frame(Lz4Frame.of(100), new byte[100]);
    behind[behind.length - 1] ^= 1;
    ByteArrayOutputStream file = new ByteArrayOutputStream();
    file.write(Samples.frame(Lz4Frame.of(npy.length), npy));
    file.write(behind);
    Path x = Files.write(folder.resolve("x.npy.lz4"), file.toByteArray());
    Path y = folder.resolve("y.npy");
    try (UnifiedMemoryManager memory = UnifiedMemoryManager.create()) {
      Pipeline pipeline = Pipeline.from("x", x).through("y = 2*x").to("y", y).on(memory);

      assertThatThrownBy(() -> pipeline.run(StreamOptions.defaults()))
          .isInstanceOf(Lz4FormatException.class);
    }
    assertThat(folder.toFile().list()).containsExactlyInAnyOrder("plain.npy", "x.npy.lz4");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        // "ab", then a match of 4 from 2 bytes back and 5 literals, then the literal "c".
        "02000080 6162 | 09000000 00020050 3132333435 | 02000000 1063 | ababab12345c",
        // As above, but behind 3 and behind 4 bytes, with matches as far back as there are bytes.
        "03000080 616263 | 09000000 00030050 3132333435 | 02000000 1064 | abcabca12345d",
        "04000080 61626364 | 09000000 00040050 3132333435 | 02000000 1065 | abcdabcd12345e",
        "04000080 61626364 | 09000000 00090050 3132333435 | 02000000 1065 | reaches back 9 bytes",
        "02000080 6162 | 09000000 00030050 3132333435 | 02000000 1063 | reaches back 3 bytes",
      })
  void of_linked_blocks_has_matches_into_what_was_decoded(
      String first, String second, String third, String expected) throws IOException {
    ByteArrayOutputStream file = new ByteArrayOutputStream();
    file.write(new Lz4Frame(false, false, false, OptionalLong.empty(), 64 << 10).encode());
    for (String block : List.of(first, second, third)) {
      file.write(HexFormat.of().parseHex(block.strip().replace(" ", "")));
    }
    file.write(Samples.number(0));
    Path path = folder.resolve("linked.lz4");
    byte[] decoded = new byte[expected.length()];
    try (ByteSource source = new Lz4Codec().open(path, new Samples.File(file.toByteArray()))) {
      if (expected.startsWith("reaches")) {
        assertThatThrownBy(() -> source.read(0, MemorySegment.ofArray(new byte[10])))
            .isInstanceOf(Lz4FormatException.class)
            .hasMessageContaining("cannot read " + path + ": block 1 is damaged: a match at its")
            .hasMessageContaining(expected);
        return;
      }
      source.read(0, MemorySegment.ofArray(decoded));
    }
    assertThat(new String(decoded, StandardCharsets.US_ASCII)).isEqualTo(expected);
  }

  /** Frames of all kinds, damaged: each is right, or one error that names the file. */
  @Test
  void that_is_damaged_anywhere_ends_in_one_error() throws IOException {
    Random random = new Random(SEED);
    Path path = folder.resolve("damaged.lz4");
    int refused = 0;
    for (int round = 0; round < 4000; round++) {
      byte[] content = Samples.values()[round % 3].bytes(1 + random.nextInt(150_000), random);
      Lz4Frame header =
          new Lz4Frame(
              true,
              random.nextBoolean(),
              random.nextBoolean(),
              random.nextBoolean() ? OptionalLong.of(content.length) : OptionalLong.empty(),
              64 << 10);
      boolean fixture = round % 8 == 0;
      byte[] file = fixture ? fixture(FIXTURES.get(round / 8 % 5)) : Samples.frame(header, content);
      for (int change = random.nextInt(6); change >= 0; change--) {
        file[random.nextInt(file.length)] = (byte) random.nextInt();
      }
      if (round % 5 == 0) {
        file = Arrays.copyOf(file, random.nextInt(file.length));
      }
      byte[] decoded = new byte[fixture ? 4 * ELEMENTS + 128 : content.length];
      try (ByteSource source = new Lz4Codec().open(path, new Samples.File(file))) {
        source.read(0, MemorySegment.ofArray(decoded));
        source.verify();
        if (!fixture && header.contentChecksum()) {
          assertThat(decoded).as("round %d, seed %d", round, SEED).isEqualTo(content);
        }
      } catch (Lz4FormatException e) {
        refused++;
        assertThat(e).hasMessageStartingWith("cannot read " + path + ": ");
      }
    }
    assertThat(refused).isBetween(2000, 3999);
  }

  @Test
  void that_is_written_here_is_decoded_by_the_lz4_command() throws Exception {
    boolean there =
        Stream.of(System.getenv("PATH").split(File.pathSeparator))
            .anyMatch(place -> Files.isExecutable(Path.of(place, "lz4")));
    assertThat(there || !"true".equals(System.getenv("CI"))).isTrue();
    assumeTrue(there, "there is no lz4 command");
    byte[] npy = npy(expected());
    for (int blockBytes = 64 << 10; blockBytes <= 4 << 20; blockBytes *= 4) {
      Lz4Frame header = Lz4Frame.of(npy.length).withBlockBytes(blockBytes).withBlockChecksums(true);
      Path file = Files.write(folder.resolve("b.npy.lz4"), Samples.frame(header, npy));
      Path decoded = folder.resolve("b.npy");
      Process lz4 =
          new ProcessBuilder("lz4", "-d", "-q", "-f", file.toString(), decoded.toString())
              .inheritIO()
              .start();

      assertThat(lz4.waitFor()).isZero();
      assertThat(decoded).hasBinaryContent(npy);
    }
  }

  private float[] readAll(byte[] file) throws IOException {
    try (NpyReader reader = open(file)) {
      float[] values = read(reader, 0, (int) reader.length());
      reader.verify();
      return values;
    }
  }

  private byte[] npy(float[] values) throws IOException {
    Path path = folder.resolve("plain.npy");
    NpyHeader header = NpyHeader.of(NpyType.FLOAT32, false, List.of((long) values.length));
    try (NpyWriter writer = NpyWriter.create(path, header, true)) {
      writer.write(0, MemorySegment.ofArray(values));
      writer.commit();
    }
    return Files.readAllBytes(path);
  }
}

package dev.tidepool.stream;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.fail;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class NpyHeaderTest {

  private static byte[] file(int version, String header) {
    return file(version, header.getBytes(StandardCharsets.UTF_8));
  }

  private static byte[] file(int version, byte[] header) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    bytes.writeBytes(new byte[] {(byte) 0x93, 'N', 'U', 'M', 'P', 'Y', (byte) version, 0});
    ByteBuffer length = ByteBuffer.allocate(4).order(ByteOrder.LITTLE_ENDIAN);
    length.putInt(0, header.length);
    bytes.write(length.array(), 0, version == 1 ? 2 : 4);
    bytes.writeBytes(header);
    return bytes.toByteArray();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }\n",
        "{'shape': (3, 4), 'fortran_order': False, 'descr': '<f4'}",
        "  {\"descr\":\"<f4\",\"fortran_order\":False,\"shape\":(3,4,)}  \n",
        "{ 'descr' : '<f4' ,\n'fortran_order' : False , 'shape' : ( 3 , 4 ) , }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (3L, 4L)}",
      })
  void theSpellingOfAHeaderDoesNotMatter(String text) {
    NpyHeader header = NpyHeader.parse(file(1, text));

    assertThat(header.type()).isEqualTo(NpyType.FLOAT32);
    assertThat(header.byteOrder()).isEqualTo(ByteOrder.LITTLE_ENDIAN);
    assertThat(header.fortranOrder()).isFalse();
    assertThat(header.shape()).containsExactly(3L, 4L);
    assertThat(header.dataOffset()).isEqualTo(10 + text.length());
    assertThat(header.elementCount()).isEqualTo(12);
    assertThat(header.dataBytes()).isEqualTo(48);
  }

  @ParameterizedTest
  @CsvSource({
    "<f4, FLOAT32, LITTLE_ENDIAN",
    ">f4, FLOAT32, BIG_ENDIAN",
    ">u8, UINT64, BIG_ENDIAN",
    "<i2, INT16, LITTLE_ENDIAN",
    ">f8, FLOAT64, BIG_ENDIAN"
  })
  void aMarkTellsTheByteOrder(String descriptor, NpyType type, String order) {
    NpyHeader header = NpyHeader.parse(file(1, header("'" + descriptor + "'", "False", "(1,)")));

    assertThat(header.type()).isEqualTo(type);
    assertThat(header.byteOrder()).hasToString(order);
  }

  @ParameterizedTest
  @ValueSource(strings = {"=f4", "f4", "|f4"})
  void withoutAMarkTheByteOrderIsThePlatforms(String descriptor) {
    NpyHeader header = NpyHeader.parse(file(1, header("'" + descriptor + "'", "False", "(1,)")));

    assertThat(header.byteOrder()).isEqualTo(ByteOrder.nativeOrder());
  }

  @Test
  void anyShapeIsRead() {
    assertThat(parse("()").elementCount()).isEqualTo(1);
    assertThat(parse("(0,)").elementCount()).isZero();
    assertThat(parse("(4611686018427387904, 4611686018427387904, 0)").dataBytes()).isZero();
    assertThat(parse("(1099511627776,)").dataBytes()).isEqualTo(1L << 42);
  }

  private static NpyHeader parse(String shape) {
    return NpyHeader.parse(file(1, header("'<f4'", "True", shape)));
  }

  private static String header(String descriptor, String fortran, String shape) {
    return "{'descr': "
        + descriptor
        + ", 'fortran_order': "
        + fortran
        + ", 'shape': "
        + shape
        + ", }\n";
  }

  @Test
  void aShapeOfMoreThan64BitsOfBytesIsRefused() {
    assertThatThrownBy(() -> parse("(4294967296, 4294967296)"))
        .isInstanceOf(NpyFormatException.class)
        .hasMessageContaining("(4294967296, 4294967296) exceeds 9223372036854775807 bytes");
    assertThatThrownBy(() -> parse("(2305843009213693952,)"))
        .isInstanceOf(NpyFormatException.class)
        .hasMessageContaining("exceeds");
    assertThatThrownBy(() -> parse("(9223372036854775808,)"))
        .isInstanceOf(NpyFormatException.class)
        .hasMessageContaining("9223372036854775808");
    assertThatThrownBy(() -> NpyHeader.of(NpyType.INT64, false, List.of(Long.MAX_VALUE)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("exceeds");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "{'descr': '<f4', 'fortran_order': False}|exactly 'descr', 'fortran_order' and 'shape'",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (), 'x': 1}|exactly",
        "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': ()}|'descr' twice",
        "{'descr': '<f4', 'fortran_order': 0, 'shape': ()}|neither True nor False",
        "{'descr': '<f4', 'fortran_order': False, 'shape': 3}|no tuple",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (3)}|no tuple",
        "{'descr': '<f4', 'fortran_order': False, 'shape': [3]}|no tuple",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (True,)}|no tuple of integers",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}|dimension -1",
        "{'descr': 4, 'fortran_order': False, 'shape': ()}|names no type",
        "{'descr': '<q9', 'fortran_order': False, 'shape': ()}|unknown type ('<q9')",
        "{'descr': '', 'fortran_order': False, 'shape': ()}|unknown type ('')",
        "{'descr': '<f4', 'fortran_order': False, 'shape': ()|ends too early, at character 52",
        "{'descr': '<f4', 'fortran_order': False, 'shape': ()} x|the end of the header",
        "{'descr': '<f4' 'fortran_order': False, 'shape': ()}|',' or '}' expected",
        "{'descr: '<f4', 'fortran_order': False, 'shape': ()}|malformed at character",
        "{1: '<f4'}|a key that is no string",
        "(1, 2)|must be a dict",
        "__import__('os')|malformed at character 0",
        "``|ends too early, at character 0",
      })
  void aMalformedHeaderIsOneClearError(String header, String message) {
    assertThatThrownBy(() -> NpyHeader.parse(file(1, header)))
        .isInstanceOf(NpyFormatException.class)
        .hasMessageContaining(message);
  }

  @Test
  void deepNestingIsRefused() {
    assertThatThrownBy(() -> NpyHeader.parse(file(2, "(".repeat(100_000))))
        .isInstanceOf(NpyFormatException.class)
        .hasMessageContaining("nests deeper");
  }

  @Test
  void soManyValuesThatTheyTakeMuchMemoryAreRefused() {
    for (String values : List.of("1,", "[],")) {
      String shape = "(" + values.repeat(1 << 18) + ")";
      assertThatThrownBy(() -> NpyHeader.parse(file(2, header("'<f4'", "False", shape))))
          .isInstanceOf(NpyFormatException.class)
          .hasMessageContaining("more than 131072 values");
    }
  }

  @Test
  void aFileThatIsNoArrayIsOneClearError() {
    assertThatThrownBy(() -> NpyHeader.parse(new byte[0]))
        .isInstanceOf(NpyFormatException.class)
        .hasMessageContaining("only 0 bytes");
    assertThatThrownBy(() -> NpyHeader.parse("PK\3\4 a zip file".getBytes(StandardCharsets.UTF_8)))
        .isInstanceOf(NpyFormatException.class)
        .hasMessageContaining("no .npy file");
    assertThatThrownBy(() -> NpyHeader.parse(file(4, "{}")))
        .isInstanceOf(NpyFormatException.class)
        .hasMessageContaining("version 4.0; versions 1.0, 2.0 and 3.0 are read");
    byte[] whole = file(1, header("'<f4'", "False", "()"));
    assertThatThrownBy(() -> NpyHeader.parse(Arrays.copyOf(whole, 30)))
        .isInstanceOf(NpyFormatException.class)
        .hasMessageContaining("ends within its header")
        .hasMessageContaining("it has 30");
    byte[] huge = file(2, "{}");
    Arrays.fill(huge, 8, 12, (byte) 0xff);
    assertThatThrownBy(() -> NpyHeader.parse(huge))
        .isInstanceOf(NpyFormatException.class)
        .hasMessageContaining("4294967295 bytes");
  }

  @Test
  void version3IsUtf8AndMustBe() {
    byte[] header = header("'<f4'", "False", "()").getBytes(StandardCharsets.UTF_8);
    header[header.length - 1] = (byte) 0xff;

    assertThatThrownBy(() -> NpyHeader.parse(file(3, header)))
        .isInstanceOf(NpyFormatException.class)
        .hasMessageContaining("not UTF-8");
    assertThatThrownBy(() -> NpyHeader.parse(file(3, header("[('α', '<f4')]", "False", "()"))))
        .isInstanceOf(NpyFormatException.class)
        .hasMessageContaining("structured records");
  }

  @Test
  void aPieceOfHalfAnElementIsToldWithTheTypeOfTheFile() {
    NpyHeader header = NpyHeader.of(NpyType.FLOAT64, false, List.of(4L));
    assertThat(header.position(1, 16)).isEqualTo(header.dataOffset() + 8);
    assertThatThrownBy(() -> header.position(0, 12))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage(
            "a segment of 12 bytes is no whole number of elements of the file, which are float64"
                + " of 8 bytes");
  }

  @Test
  void aHeaderTooLongForVersion1IsWrittenAsVersion2() {
    NpyHeader header = NpyHeader.of(NpyType.INT8, false, Collections.nCopies(30_000, 1L));

    assertThat(header.version()).isEqualTo(2);
    assertThat(header.dataOffset() % 64).isZero();
    assertThat(NpyHeader.parse(header.encode())).isEqualTo(header);
  }

  @Test
  void whatIsWrittenIsReadBack() {
    Random random = new Random(11);
    for (int i = 0; i < 2_000; i++) {
      NpyType type = NpyType.values()[random.nextInt(NpyType.values().length)];
      List<Long> shape =
          random.longs(random.nextInt(6), 0, 1 << random.nextInt(10)).boxed().toList();
      NpyHeader header = NpyHeader.of(type, random.nextBoolean(), shape);

      assertThat(header.dataOffset() % 64).isZero();
      assertThat(NpyHeader.parse(header.encode())).isEqualTo(header);
    }
  }

  /** The seed is fixed so that a failure repeats; its number is in the message. */
  @Test
  void noMutationOfAHeaderThrowsAnythingElse() throws IOException {
    String[] names = {
      "float32-little",
      "version-2",
      "version-3",
      "fortran-order-3d",
      "unsupported-structured",
      "unsupported-structured-utf8",
      "many-dimensions"
    };
    byte[] spice =
        "{}()[],:'\"\\ \n<>|=0123456789LTrueFalseNone\u0000".getBytes(StandardCharsets.ISO_8859_1);
    for (int seed = 0; seed < 100_000; seed++) {
      Random random = new Random(seed);
      byte[] bytes = Files.readAllBytes(NpyFiles.path(names[random.nextInt(names.length)]));
      int mutations = 1 + random.nextInt(4);
      for (int m = 0; m < mutations; m++) {
        int at = random.nextInt(bytes.length);
        switch (random.nextInt(4)) {
          case 0 -> bytes[at] = (byte) random.nextInt();
          case 1 -> bytes[at] = spice[random.nextInt(spice.length)];
          case 2 -> System.arraycopy(bytes, at, bytes, random.nextInt(at + 1), bytes.length - at);
          default -> bytes = Arrays.copyOf(bytes, Math.max(1, at));
        }
      }
      try {
        NpyHeader.parse(bytes);
      } catch (NpyFormatException e) {
        assertThat(e.getMessage()).doesNotContain("\n").isNotBlank();
      } catch (Throwable e) {
        fail("seed " + seed, e);
      }
    }
  }
}

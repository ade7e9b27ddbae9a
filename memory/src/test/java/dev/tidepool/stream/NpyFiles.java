package dev.tidepool.stream;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** The files that {@code make_npy.py} let NumPy write, what is in them, and files of floats. */
final class NpyFiles {
  static final int COUNT = 12;

  private NpyFiles() {}

  static Path path(String name) {
    URI uri;
    try {
      uri = NpyFiles.class.getResource("npy/" + name + ".npy").toURI();
    } catch (URISyntaxException e) {
      throw new AssertionError(e);
    }
    return Path.of(uri);
  }

  static NpyReader open(String name) {
    return NpyReader.open(path(name));
  }

  /** The bytes of the twelve elements that the script writes, in the platform's order. */
  static byte[] values(NpyType type) {
    ByteBuffer bytes = ByteBuffer.allocate(COUNT * type.byteSize()).order(ByteOrder.nativeOrder());
    for (int i = 0; i < COUNT; i++) {
      int integer = 37 * i - 100;
      switch (type) {
        case BOOL -> bytes.put((byte) (i % 3 == 0 ? 1 : 0));
        case INT8, UINT8 -> bytes.put((byte) integer);
        case INT16, UINT16 -> bytes.putShort((short) integer);
        case INT32, UINT32 -> bytes.putInt(integer);
        case INT64, UINT64 -> bytes.putLong(integer);
        case FLOAT32 -> bytes.putFloat(1.5f * i - 4);
        case FLOAT64 -> bytes.putDouble(1.5 * i - 4);
      }
    }
    return bytes.array();
  }

  /** All elements of a file. */
  static byte[] read(NpyReader reader) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment elements = arena.allocate(reader.header().dataBytes());
      reader.read(0, elements);
      return elements.toArray(ValueLayout.JAVA_BYTE);
    }
  }

  /** Writes a new file of floats. */
  static void write(Path file, List<Long> shape, float[] values) {
    NpyHeader header = NpyHeader.of(NpyType.FLOAT32, false, shape);
    try (NpyWriter writer = NpyWriter.create(file, header, false)) {
      writer.write(0, MemorySegment.ofArray(values));
      writer.commit();
    }
  }

  /** All elements of a file of floats. */
  static float[] floats(Path file) {
    try (NpyReader reader = NpyReader.open(file)) {
      float[] values = new float[(int) reader.length()];
      reader.read(0, MemorySegment.ofArray(values));
      return values;
    }
  }

  /** {@code i % 1000} for each element. */
  static float[] counting(int length) {
    float[] values = new float[length];
    for (int i = 0; i < length; i++) {
      values[i] = i % 1000;
    }
    return values;
  }

  static void assertFolderHolds(Path folder, String... names) throws IOException {
    try (var files = Files.list(folder)) {
      assertThat(files.map(file -> file.getFileName().toString())).containsExactlyInAnyOrder(names);
    }
  }
}

package dev.tidepool.cli;

import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

/** Writes {@code .npy} files without the code under test. */
final class NpyFiles {
  private static final int MAGIC_BYTES = 10;

  private NpyFiles() {}

  /** A one-dimensional array of float32. */
  static Path floats(Path file, float... values) {
    ByteBuffer data =
        ByteBuffer.allocate(values.length * Float.BYTES).order(ByteOrder.LITTLE_ENDIAN);
    data.asFloatBuffer().put(values);
    return write(file, "<f4", "(" + values.length + ",)", data.array());
  }

  /** A file that says of itself what the caller likes. */
  static Path write(Path file, String descriptor, String shape, byte[] data) {
    return write(file, descriptor, shape, false, data);
  }

  /** A file that says of itself what the caller likes, its order too. */
  static Path write(Path file, String descriptor, String shape, boolean fortran, byte[] data) {
    try (OutputStream out = Files.newOutputStream(file)) {
      out.write(header("'" + descriptor + "'", shape, fortran));
      out.write(data);
      return file;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** A large array of float32, 0 to 1023 again and again, written in pieces. */
  static Path large(Path file, long elements) {
    ByteBuffer piece = ByteBuffer.allocate(1 << 20).order(ByteOrder.LITTLE_ENDIAN);
    for (int i = 0; i < piece.capacity() / Float.BYTES; i++) {
      piece.putFloat(i % 1024);
    }
    try (OutputStream out = Files.newOutputStream(file)) {
      out.write(header("'<f4'", "(" + elements + ",)"));
      for (long left = elements * Float.BYTES; left > 0; left -= piece.capacity()) {
        out.write(piece.array(), 0, (int) Math.min(left, piece.capacity()));
      }
      return file;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** A header of version 1.0 as the format says. */
  static byte[] header(String descriptor, String shape) {
    return header(descriptor, shape, false);
  }

  private static byte[] header(String descriptor, String shape, boolean fortran) {
    String text =
        "{'descr': %s, 'fortran_order': %s, 'shape': %s, }"
            .formatted(descriptor, fortran ? "True" : "False", shape);
    int length = (MAGIC_BYTES + text.length() + 1 + 63) / 64 * 64 - MAGIC_BYTES;
    String padded = text + " ".repeat(length - text.length() - 1) + "\n";
    return ByteBuffer.allocate(MAGIC_BYTES + length)
        .order(ByteOrder.LITTLE_ENDIAN)
        .put((byte) 0x93)
        .put("NUMPY".getBytes(StandardCharsets.US_ASCII))
        .put((byte) 1)
        .put((byte) 0)
        .putShort((short) length)
        .put(padded.getBytes(StandardCharsets.US_ASCII))
        .array();
  }
}

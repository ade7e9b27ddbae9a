package dev.tidepool.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A {@code .npy} file of version 1 as its bytes say, read without the code under test.
 *
 * @param header the text that NumPy writes, padding included
 * @param type such as {@code f4}
 * @param data the elements, little-endian
 */
record NpyImage(String header, String type, ByteBuffer data) {
  private static final Pattern DESCRIPTOR = Pattern.compile("'descr': '[<|]([a-z]\\d)'");

  static NpyImage read(Path file) {
    try {
      byte[] bytes = Files.readAllBytes(file);
      ByteBuffer buffer = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
      int start = 10 + buffer.getShort(8);
      String header = new String(bytes, 0, start, StandardCharsets.ISO_8859_1);
      Matcher descriptor = DESCRIPTOR.matcher(header);
      assertThat(descriptor.find()).as(header).isTrue();
      ByteBuffer data = buffer.slice(start, bytes.length - start).order(ByteOrder.LITTLE_ENDIAN);
      return new NpyImage(header, descriptor.group(1), data);
    } catch (IOException e) {
      throw new AssertionError("cannot read " + file, e);
    }
  }

  /** Fails unless this file is that of NumPy, elements being as near as {@code distance} says. */
  void assertEquals(NpyImage expected, String distance) {
    assertThat(header).isEqualTo(expected.header);
    assertThat(data.remaining()).isEqualTo(expected.data.remaining());
    switch (type) {
      case "f4" -> {
        for (int i = 0; i < data.remaining() / Float.BYTES; i++) {
          assertNear(i, floatAt(i), expected.floatAt(i), floatSteps(expected, i), distance);
        }
      }
      case "f8" -> {
        for (int i = 0; i < data.remaining() / Double.BYTES; i++) {
          assertNear(i, doubleAt(i), expected.doubleAt(i), doubleSteps(expected, i), distance);
        }
      }
      default -> {
        int mismatch = data.mismatch(expected.data);
        assertThat(mismatch).as("the first byte that differs").isEqualTo(-1);
      }
    }
  }

  private static void assertNear(
      int index, double actual, double expected, long steps, String distance) {
    if (Double.isNaN(actual) && Double.isNaN(expected)) {
      return;
    }
    boolean near =
        distance.equals("same value")
            ? actual == expected
            : steps <= Long.parseLong(distance) && !Double.isNaN(actual) && !Double.isNaN(expected);
    if (!near) {
      throw new AssertionError(
          "element %d is %s, but NumPy has %s (%d steps away, allowed: %s)"
              .formatted(index, actual, expected, steps, distance));
    }
  }

  private float floatAt(int index) {
    return data.getFloat(index * Float.BYTES);
  }

  private double doubleAt(int index) {
    return data.getDouble(index * Double.BYTES);
  }

  private long floatSteps(NpyImage other, int index) {
    int mine = data.getInt(index * Integer.BYTES);
    int theirs = other.data.getInt(index * Integer.BYTES);
    return Math.abs(ordered(mine) - ordered(theirs));
  }

  private long doubleSteps(NpyImage other, int index) {
    long mine = data.getLong(index * Long.BYTES);
    long theirs = other.data.getLong(index * Long.BYTES);
    if ((mine < 0) != (theirs < 0)) {
      return Long.MAX_VALUE;
    }
    return Math.abs(mine - theirs);
  }

  /** Bits so that neighbouring numbers are neighbouring integers; -0 and 0 are one apart. */
  private static long ordered(int bits) {
    return bits < 0 ? -1L - (bits & Integer.MAX_VALUE) : bits;
  }
}

package dev.tidepool;

import java.io.IOException;
import java.io.OutputStream;
import java.util.HexFormat;

/**
 * JSON in UTF-8, handed to a stream in large pieces. Numbers and texts become bytes here and
 * nowhere else: a document of a million numbers is written once, by a loop that is soon compiled.
 * Not for concurrent use.
 */
final class JsonBytes {
  /** Bytes that are handed over at once. */
  private static final int PIECE = 64 << 10;

  /** The most that one character or number takes. */
  private static final int LONGEST = 20;

  private static final HexFormat HEX = HexFormat.of();

  private final OutputStream target;
  private final byte[] bytes = new byte[PIECE];
  private int size;

  JsonBytes(OutputStream target) {
    this.target = target;
  }

  /** Hands over what is left. */
  void flush() throws IOException {
    target.write(bytes, 0, size);
    size = 0;
  }

  private void makeRoom() throws IOException {
    if (size > PIECE - LONGEST) {
      flush();
    }
  }

  /** A mark between values. */
  void mark(char mark) throws IOException {
    makeRoom();
    bytes[size++] = (byte) mark;
  }

  /** Marks and words of JSON, which are ASCII. */
  void raw(String text) throws IOException {
    for (int i = 0; i < text.length(); i++) {
      mark(text.charAt(i));
    }
  }

  void number(long value) throws IOException {
    makeRoom();
    if (value < 0) {
      bytes[size++] = '-';
    }
    // Below zero, where the smallest number has its place too.
    long rest = value < 0 ? value : -value;
    int end = size + 1;
    for (long tens = rest / 10; tens != 0; tens /= 10) {
      end++;
    }
    for (int at = end - 1; at >= size; at--) {
      bytes[at] = (byte) ('0' - rest % 10);
      rest /= 10;
    }
    size = end;
  }

  /** A text; escapes what JSON must, and what would end a script or is no character by itself. */
  void string(String text) throws IOException {
    mark('"');
    for (int i = 0; i < text.length(); i++) {
      character(text.charAt(i));
    }
    mark('"');
  }

  private void character(char c) throws IOException {
    makeRoom();
    switch (c) {
      case '"' -> raw("\\\"");
      case '\\' -> raw("\\\\");
      case '\n' -> raw("\\n");
      default -> {
        if (c >= ' ' && c < 0x7f && c != '<') {
          bytes[size++] = (byte) c;
        } else if (c > 0xa0 && Character.isLetterOrDigit(c)) {
          encoded(c);
        } else {
          raw("\\u");
          raw(HEX.toHexDigits(c));
        }
      }
    }
  }

  /** A character above ASCII, no half of a pair. */
  private void encoded(char c) {
    if (c < 0x800) {
      bytes[size++] = (byte) (0xc0 | (c >> 6));
    } else {
      bytes[size++] = (byte) (0xe0 | (c >> 12));
      bytes[size++] = (byte) (0x80 | ((c >> 6) & 0x3f));
    }
    bytes[size++] = (byte) (0x80 | (c & 0x3f));
  }
}

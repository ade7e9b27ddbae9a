package dev.tidepool.host;

import dev.tidepool.ElementType;
import dev.tidepool.TransferException;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.PaddingLayout;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.stream.Collectors;

/**
 * The header of a shared file, which describes its contents. The elements follow at the next
 * multiple of {@link #GRANULE}.
 *
 * <p>The numbers of the header are always big-endian. The first field is the same in every version.
 * It identifies files of this library that are no longer used.
 *
 * <pre>
 *  0  long  "TIDEPOOL"
 *  8  int   version
 * 12  int   byte order of the elements: 1 big-endian, 2 little-endian
 * 16  long  elements
 * 24  long  bytes of one element
 * 32  long  process that created the file
 * 40  int   where the elements begin, in bytes
 * 44  int   bytes of the description, which follows: UTF-8
 * </pre>
 *
 * @param description of the element type; for a struct, with all its members
 * @param elementBytes bytes of one element
 * @param length elements
 * @param creator the process that created the file
 */
record SharedHeader(String description, long elementBytes, long length, long creator) {
  /** Elements begin at a multiple of this number of bytes. */
  static final int GRANULE = 4096;

  private static final long MAGIC = 0x54494445504F4F4CL;
  private static final int VERSION = 1;
  private static final int VERSION_AT = 8;
  private static final int ORDER_AT = 12;
  private static final int LENGTH_AT = 16;
  private static final int ELEMENT_BYTES_AT = 24;
  private static final int CREATOR_AT = 32;
  private static final int START_AT = 40;
  private static final int DESCRIPTION_BYTES_AT = 44;
  private static final int DESCRIPTION_AT = 48;
  private static final int LARGEST = 1 << 20;

  /**
   * Returns the header of a new file of this process.
   *
   * @throws IllegalArgumentException if the length is negative, or the bytes exceed a 64-bit count
   */
  static SharedHeader of(ElementType<?> type, long length) {
    SharedHeader header =
        new SharedHeader(describe(type), type.byteSize(), length, ProcessHandle.current().pid());
    if (type.bytes(length) > Long.MAX_VALUE - header.bytes()) {
      throw new IllegalArgumentException(
          length + " elements of " + type.byteSize() + " bytes do not fit into one file");
    }
    if (header.bytes() > LARGEST) {
      throw new IllegalArgumentException(type + " has too many members to be shared");
    }
    return header;
  }

  /** Returns the size of the header, which is the offset of the elements. */
  int bytes() {
    int front = DESCRIPTION_AT + description.getBytes(StandardCharsets.UTF_8).length;
    return Math.ceilDiv(front, GRANULE) * GRANULE;
  }

  long elementsBytes() {
    return length * elementBytes;
  }

  long fileBytes() {
    return bytes() + elementsBytes();
  }

  /** Returns the header in the format of the file. */
  ByteBuffer encode() {
    byte[] text = description.getBytes(StandardCharsets.UTF_8);
    return ByteBuffer.allocate(bytes())
        .putLong(MAGIC)
        .putInt(VERSION)
        .putInt(nativeOrder())
        .putLong(length)
        .putLong(elementBytes)
        .putLong(creator)
        .putInt(bytes())
        .putInt(text.length)
        .put(text)
        .rewind();
  }

  /** Returns whether these are the first bytes of a shared file. An empty file is a new one. */
  static boolean isOurs(ByteBuffer front) {
    return !front.hasRemaining() || (front.remaining() >= Long.BYTES && front.getLong(0) == MAGIC);
  }

  /** Returns the size of the header that begins with these bytes. Decoding needs all of it. */
  static int bytesOf(ByteBuffer front) {
    int bytes = front.remaining() < GRANULE ? 0 : front.getInt(START_AT);
    return bytes < GRANULE || bytes > LARGEST ? GRANULE : bytes;
  }

  /** Returns the process that created the file with these first bytes, or 0 if unknown. */
  static long creatorOf(ByteBuffer front) {
    return front.remaining() < GRANULE ? 0 : front.getLong(CREATOR_AT);
  }

  /**
   * Decodes the header of a file.
   *
   * @param front all of the header
   * @param size bytes of the file
   * @param what the description of the file for errors
   * @throws TransferException if another version created it or it is damaged
   */
  static SharedHeader decode(ByteBuffer front, long size, String what) {
    if (front.remaining() < GRANULE) {
      throw damaged(what, "it has " + size + " bytes, fewer than its header");
    }
    int version = front.getInt(VERSION_AT);
    if (version != VERSION) {
      throw new TransferException(
          what
              + " has format version "
              + version
              + ", this library writes "
              + VERSION
              + "; use one version of Tidepool in all processes",
          null);
    }
    if (front.getInt(ORDER_AT) != nativeOrder()) {
      throw new TransferException(
          what + " holds elements of the other byte order; this process cannot share them", null);
    }
    int start = front.getInt(START_AT);
    long length = front.getLong(LENGTH_AT);
    long elementBytes = front.getLong(ELEMENT_BYTES_AT);
    int textBytes = front.getInt(DESCRIPTION_BYTES_AT);
    if (start != front.remaining()
        || length < 0
        || elementBytes <= 0
        || length > (Long.MAX_VALUE - start) / elementBytes
        || textBytes < 0
        || textBytes > start - DESCRIPTION_AT) {
      throw damaged(what, "its header contradicts itself");
    }
    byte[] text = new byte[textBytes];
    front.get(DESCRIPTION_AT, text);
    SharedHeader header =
        new SharedHeader(
            new String(text, StandardCharsets.UTF_8),
            elementBytes,
            length,
            front.getLong(CREATOR_AT));
    if (size < start + header.elementsBytes()) {
      throw damaged(
          what,
          "it has " + size + " bytes, but its header says " + (start + header.elementsBytes()));
    }
    return header;
  }

  /**
   * Checks that the elements have a type.
   *
   * @throws IllegalArgumentException if they do not; the message has both types
   */
  void check(ElementType<?> type, String what) {
    String wanted = describe(type);
    if (!wanted.equals(description) || type.byteSize() != elementBytes) {
      throw new IllegalArgumentException(
          what
              + " holds "
              + description
              + " elements of "
              + elementBytes
              + " bytes, not "
              + wanted
              + " of "
              + type.byteSize()
              + "; open it with the type that created it");
    }
  }

  private static TransferException damaged(String what, String why) {
    return new TransferException(
        what + " is damaged: " + why + "; close it in all processes and create it again", null);
  }

  private static int nativeOrder() {
    return ByteOrder.nativeOrder() == ByteOrder.BIG_ENDIAN ? 1 : 2;
  }

  /** Returns the name of a type; for a struct, with its members. */
  private static String describe(ElementType<?> type) {
    return type.layout() instanceof StructLayout struct
        ? type.name() + members(struct)
        : type.name();
  }

  private static String members(StructLayout struct) {
    return struct.memberLayouts().stream()
        .map(SharedHeader::describe)
        .collect(Collectors.joining("; ", " {", "}"));
  }

  private static String describe(MemoryLayout member) {
    return switch (member) {
      case PaddingLayout padding -> "padding " + padding.byteSize();
      case StructLayout struct -> "struct" + members(struct) + " " + struct.name().orElse("");
      case ValueLayout value -> value.carrier().getName() + " " + value.name().orElse("");
      default -> member.toString();
    };
  }
}

package dev.tidepool.runtime.storage;

import dev.tidepool.ElementType;
import dev.tidepool.cpu.ParallelFill;
import dev.tidepool.link.DeviceLink;
import dev.tidepool.link.HostRegion;
import dev.tidepool.spi.Block;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * Bytes that fill a range repeatedly. A device fills words with its own command if it has one for
 * their width; else the pattern is uploaded once, and doubled in place until the range is full.
 */
public final class FillPattern {
  private static final int WIDEST_WORD = Integer.BYTES;

  private final MemorySegment bytes;

  private FillPattern(MemorySegment bytes) {
    this.bytes = bytes;
  }

  public static FillPattern of(byte value) {
    return new FillPattern(MemorySegment.ofArray(new byte[] {value}));
  }

  /**
   * Returns the pattern of an array's elements.
   *
   * @throws IllegalArgumentException if there are none
   */
  public static <A> FillPattern of(ElementType<A> type, A elements) {
    int count = type.length(elements);
    if (count == 0) {
      throw new IllegalArgumentException("a pattern to fill with has at least one element, not 0");
    }
    long size = type.bytes(count);
    // An array of longs, because elements must be aligned.
    long[] room = new long[Math.toIntExact(Math.ceilDiv(size, Long.BYTES))];
    MemorySegment bytes = MemorySegment.ofArray(room).asSlice(0, size);
    type.write(elements, 0, bytes, 0, count);
    return new FillPattern(bytes);
  }

  void fill(MemorySegment target) {
    ParallelFill.fill(target, bytes);
  }

  void fill(DeviceLink link, Block block, long offset, long count) {
    long width = width();
    boolean isWord = width <= WIDEST_WORD && Long.bitCount(width) == 1;
    if (isWord && link.fill(block, offset, count, (int) width, word((int) width))) {
      return;
    }
    long done = Math.min(bytes.byteSize(), count);
    link.upload(new HostRegion.Segment(bytes.asSlice(0, done), false), block, offset);
    while (done < count) {
      long more = Math.min(done, count - done);
      link.copy(link, block, offset, block, offset + done, more);
      done += more;
    }
  }

  /** Returns the width of the shortest equivalent pattern that halving finds. */
  private long width() {
    long width = bytes.byteSize();
    while (width % 2 == 0 && repeats(width / 2)) {
      width /= 2;
    }
    return width;
  }

  private boolean repeats(long width) {
    long rest = bytes.byteSize() - width;
    return MemorySegment.mismatch(bytes, 0, rest, bytes, width, width + rest) == -1;
  }

  private int word(int width) {
    return switch (width) {
      case Byte.BYTES -> bytes.get(ValueLayout.JAVA_BYTE, 0);
      case Short.BYTES -> bytes.get(ValueLayout.JAVA_SHORT_UNALIGNED, 0);
      case Integer.BYTES -> bytes.get(ValueLayout.JAVA_INT_UNALIGNED, 0);
      default -> throw new IllegalArgumentException("no word has " + width + " bytes");
    };
  }
}

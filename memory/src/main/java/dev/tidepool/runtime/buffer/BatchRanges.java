package dev.tidepool.runtime.buffer;

import java.util.Arrays;

/**
 * Disjoint byte ranges of one storage, in order. A batch has some hundreds of transfers at most:
 * for so few, binary search in arrays is several times faster than a tree. Used by one thread.
 */
final class BatchRanges {
  private static final int FIRST_ROOM = 16;

  private long[] starts = new long[FIRST_ROOM];
  private long[] ends = new long[FIRST_ROOM];
  private int count;

  /** Adds a range that is not empty and {@linkplain #intersects intersects} no other. */
  void add(long from, long to) {
    int place = firstEndingBehind(from);
    if (count == starts.length) {
      starts = Arrays.copyOf(starts, count * 2);
      ends = Arrays.copyOf(ends, count * 2);
    }
    System.arraycopy(starts, place, starts, place + 1, count - place);
    System.arraycopy(ends, place, ends, place + 1, count - place);
    starts[place] = from;
    ends[place] = to;
    count++;
  }

  /** Returns whether a range that is not empty shares bytes with one of the ranges. */
  boolean intersects(long from, long to) {
    int place = firstEndingBehind(from);
    return place < count && starts[place] < to;
  }

  /** Returns the index of the first range that ends after a byte; the count if there is none. */
  private int firstEndingBehind(long from) {
    int low = 0;
    int high = count;
    while (low < high) {
      int middle = (low + high) >>> 1;
      if (ends[middle] > from) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  }
}

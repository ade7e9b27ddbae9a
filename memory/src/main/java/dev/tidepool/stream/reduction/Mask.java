package dev.tidepool.stream.reduction;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Which elements are selected. It gets each range before the other sinks do, keeps it until they
 * have it too, and counts.
 *
 * <p>Threads: any; a range is brought, used and forgotten by one.
 */
public final class Mask implements RangeConsumer {
  private final Map<Long, byte[]> ranges = new ConcurrentHashMap<>();
  private long selected;

  @Override
  public void write(long elementOffset, MemorySegment source) {
    byte[] truths = source.toArray(ValueLayout.JAVA_BYTE);
    long trues = 0;
    for (byte truth : truths) {
      trues += truth == 0 ? 0 : 1;
    }
    ranges.put(elementOffset, truths);
    add(trues);
  }

  private synchronized void add(long trues) {
    selected += trues;
  }

  /** Returns the mask of the range that begins at the offset: nonzero means selected. */
  byte[] from(long elementOffset) {
    return Objects.requireNonNull(ranges.get(elementOffset), "a mask comes before what it selects");
  }

  /** All sinks have the range that begins there. */
  public void forget(long elementOffset) {
    ranges.remove(elementOffset);
  }

  /** Returns how many elements are selected. */
  synchronized long selected() {
    return selected;
  }

  /** Brings the selected ones of some elements together at the front; returns how many. */
  static int gather(MemorySegment elements, byte[] truths, int width, MemorySegment target) {
    int count = 0;
    for (int i = 0; i < truths.length; i++) {
      if (truths[i] != 0) {
        MemorySegment.copy(elements, (long) i * width, target, (long) count * width, width);
        count++;
      }
    }
    return count;
  }
}

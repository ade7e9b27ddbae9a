package dev.tidepool.stream.reduction;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The elements that are selected. It receives each range before the other sinks, keeps it until
 * they have received it too, and counts the selected elements.
 *
 * <p>Thread-safe; one thread writes, uses and forgets a range.
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

  /** Drops the range that begins at the offset, because all sinks have received it. */
  public void forget(long elementOffset) {
    ranges.remove(elementOffset);
  }

  /** Returns how many elements are selected. */
  synchronized long selected() {
    return selected;
  }

  /** Copies the selected elements to the front of the target. Returns their number. */
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

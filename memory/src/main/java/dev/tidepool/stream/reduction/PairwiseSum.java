package dev.tidepool.stream.reduction;

import dev.tidepool.expression.syntax.ScalarType;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The sum or the mean of elements as doubles, added in an order that depends only on their
 * positions.
 *
 * <p>Blocks of {@value ElementBatch#LENGTH} elements, counted from the first element of all, are
 * the leaves of a binary tree: neighbours are added, then neighbours of these, and so on. A range
 * adds up the subtrees that it contains completely. Each is added to its neighbour as soon as both
 * exist. So only a few sums are kept for each range in flight, and the result is the same to the
 * last bit whatever chunks, threads and accelerators there are. Ranges begin at blocks, as those of
 * a pipeline do.
 *
 * <p>{@link BlockSums} adds up the leaves.
 */
final class PairwiseSum extends Reducer {
  private static final int LEVELS = 64;

  private final ScalarType result;
  private final boolean mean;

  /**
   * For each level, the sums whose neighbour is missing, by their position; guarded by the monitor.
   */
  private final List<Map<Long, Double>> waiting = new ArrayList<>();

  PairwiseSum(ScalarType type, long length, ScalarType result, boolean mean) {
    super(type, length);
    this.result = result;
    this.mean = mean;
    for (int level = 0; level < LEVELS; level++) {
      waiting.add(new HashMap<>());
    }
  }

  @Override
  public void write(long elementOffset, MemorySegment source) {
    long count = source.byteSize() / type.byteSize();
    long end = elementOffset + count;
    if (elementOffset % ElementBatch.LENGTH != 0
        || (end % ElementBatch.LENGTH != 0 && end != length)) {
      throw new IllegalArgumentException(
          "a range of elements %s to %s; sums take ranges from multiples of %s to multiples of %s"
                  .formatted(elementOffset, end, ElementBatch.LENGTH, ElementBatch.LENGTH)
              + ", or to the end");
    }
    BlockSums blocks = new BlockSums(type, source, count);
    long first = elementOffset / ElementBatch.LENGTH;
    long last = (end + ElementBatch.LENGTH - 1) / ElementBatch.LENGTH;
    for (long leaf = first; leaf < last; ) {
      // The greatest subtree that begins here and ends in the range.
      int level =
          Math.min(Long.numberOfTrailingZeros(leaf), 63 - Long.numberOfLeadingZeros(last - leaf));
      join(level, leaf >>> level, blocks.sum(leaf - first, level));
      leaf += 1L << level;
    }
  }

  private synchronized void join(int startLevel, long startPlace, double startSum) {
    int level = startLevel;
    long place = startPlace;
    double sum = startSum;
    for (Double other = waiting.get(level).remove(place ^ 1);
        other != null;
        other = waiting.get(level).remove(place ^ 1)) {
      sum += other;
      place >>>= 1;
      level++;
    }
    if (waiting.get(level).putIfAbsent(place, sum) != null) {
      throw new IllegalStateException(
          "the elements from " + (place << level) * ElementBatch.LENGTH + " on came twice");
    }
  }

  /**
   * Adds the remaining subtrees: one for each bit of the number of leaves, the smallest last in the
   * array.
   */
  @Override
  public synchronized Object value() {
    double sum = 0;
    for (Map<Long, Double> level : waiting) {
      for (double subtree : level.values()) {
        sum = subtree + sum;
      }
    }
    return boxed(mean ? sum / length : sum, result);
  }
}

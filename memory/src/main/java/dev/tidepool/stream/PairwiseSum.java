package dev.tidepool.stream;

import dev.tidepool.expression.syntax.ScalarType;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The sum or the mean of elements as doubles, added in an order that their places alone decide.
 *
 * <p>Blocks of {@value ElementBatch#LENGTH} elements, counted from the first element of all, are
 * the leaves of a binary tree: neighbours are added, then neighbours of these, and so on. A range
 * adds up the subtrees that it holds whole, and joins them to what others brought as soon as
 * neighbours have met. So what is kept is a few sums for each range in flight, and the result is
 * the same to the last bit whatever chunks, threads and accelerators there are. Ranges begin at
 * blocks, as those of a pipeline do.
 *
 * <p>A leaf is added in pieces of {@value #PIECE} elements, each in {@value #LANES} lanes that are
 * then folded by halves. An element so takes part in {@code PIECE / LANES + 6 + log2(n / 1024)}
 * additions, fewer than in NumPy's pairwise sum; each errs by at most {@code 2^-53} of the sum of
 * magnitudes (Higham, Accuracy and Stability of Numerical Algorithms, 4.2).
 */
final class PairwiseSum extends Reducer {
  private static final int PIECE = 128;
  private static final int LANES = 16;
  private static final int LEVELS = 64;

  private final ScalarType result;
  private final boolean mean;

  /**
   * Of each level, the sums whose neighbour has not come yet, by their place; under the monitor.
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
        || (end % ElementBatch.LENGTH != 0 && end != length())) {
      throw new IllegalArgumentException(
          "a range of elements %d to %d; sums take ranges from multiples of %d to multiples of %d"
                  .formatted(elementOffset, end, ElementBatch.LENGTH, ElementBatch.LENGTH)
              + ", or to the end");
    }
    Leaves leaves = new Leaves(source, count);
    long first = elementOffset / ElementBatch.LENGTH;
    long last = (end + ElementBatch.LENGTH - 1) / ElementBatch.LENGTH;
    for (long leaf = first; leaf < last; ) {
      // The greatest subtree that begins here and ends in the range.
      int level =
          Math.min(Long.numberOfTrailingZeros(leaf), 63 - Long.numberOfLeadingZeros(last - leaf));
      join(level, leaf >>> level, leaves.sum(leaf - first, level));
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
   * What is left once all elements came is a subtree for each bit of the number of leaves, the
   * smallest last in the array.
   */
  @Override
  synchronized Object value() {
    double sum = 0;
    for (Map<Long, Double> level : waiting) {
      for (double subtree : level.values()) {
        sum = subtree + sum;
      }
    }
    return boxed(mean ? sum / length() : sum, result);
  }

  /** The blocks of one range, for one thread. */
  private final class Leaves {
    private final MemorySegment elements;
    private final long count;
    private final ElementBatch block = new ElementBatch(type);
    private final double[] lanes = new double[LANES];

    Leaves(MemorySegment elements, long count) {
      this.elements = elements;
      this.count = count;
    }

    /** The sum of {@code 1 << level} blocks from block {@code first} of the range on. */
    double sum(long first, int level) {
      if (level == 0) {
        long at = first * ElementBatch.LENGTH;
        return sum(block.doubles(elements, at, (int) Math.min(ElementBatch.LENGTH, count - at)));
      }
      return sum(first, level - 1) + sum(first + (1L << (level - 1)), level - 1);
    }

    private double sum(double[] values) {
      return tree(values, 0, ElementBatch.LENGTH);
    }

    private double tree(double[] values, int from, int length) {
      if (length == PIECE) {
        return piece(values, from);
      }
      int half = length / 2;
      return tree(values, from, half) + tree(values, from + half, half);
    }

    private double piece(double[] values, int from) {
      System.arraycopy(values, from, lanes, 0, LANES);
      for (int i = LANES; i < PIECE; i += LANES) {
        for (int lane = 0; lane < LANES; lane++) {
          lanes[lane] += values[from + i + lane];
        }
      }
      for (int half = LANES / 2; half > 0; half /= 2) {
        for (int lane = 0; lane < half; lane++) {
          lanes[lane] += lanes[lane + half];
        }
      }
      return lanes[0];
    }
  }
}

package dev.tidepool.stream.reduction;

import dev.tidepool.expression.syntax.ScalarType;
import java.lang.foreign.MemorySegment;

/**
 * The sums, as doubles, of blocks of {@value ElementBatch#LENGTH} neighbouring elements and of
 * binary trees of such blocks. Not thread-safe.
 *
 * <p>A block is added in pieces of {@value #PIECE} elements, each in {@value #LANES} lanes that are
 * then folded by halves. An element so takes part in {@code PIECE / LANES + 6 + log2(n / 1024)}
 * additions, fewer than in NumPy's pairwise sum; each errs by at most {@code 2^-53} of the sum of
 * magnitudes (Higham, Accuracy and Stability of Numerical Algorithms, 4.2).
 */
final class BlockSums {
  private static final int PIECE = 128;
  private static final int LANES = 16;

  private final MemorySegment elements;
  private final long count;
  private final ElementBatch block;
  private final double[] lanes = new double[LANES];

  BlockSums(ScalarType type, MemorySegment elements, long count) {
    this.elements = elements;
    this.count = count;
    this.block = new ElementBatch(type);
  }

  /** Returns the sum of {@code 1 << level} blocks from block {@code first} on. */
  double sum(long first, int level) {
    return tree(0, count, first, level);
  }

  /**
   * Returns the sum of some neighbours, their blocks counted from the first of them, to the last
   * bit as {@link PairwiseSum} of these alone.
   */
  double sumOf(long from, long length) {
    long blocks = (length + ElementBatch.LENGTH - 1) / ElementBatch.LENGTH;
    double sum = 0;
    // A subtree for each bit of the number of blocks, the smallest last in the row and added first.
    for (long end = blocks; end > 0; end &= end - 1) {
      sum = tree(from, length, end & (end - 1), Long.numberOfTrailingZeros(end)) + sum;
    }
    return sum;
  }

  private double tree(long from, long length, long first, int level) {
    if (level == 0) {
      long at = first * ElementBatch.LENGTH;
      return block(from + at, (int) Math.min(ElementBatch.LENGTH, length - at));
    }
    return tree(from, length, first, level - 1)
        + tree(from, length, first + (1L << (level - 1)), level - 1);
  }

  private double block(long at, int size) {
    return tree(block.doubles(elements, at, size), 0, ElementBatch.LENGTH, size);
  }

  /** Skips the zeros after the elements. */
  private double tree(double[] values, int from, int length, int size) {
    if (from >= size) {
      return 0;
    }
    if (length == PIECE) {
      return piece(values, from);
    }
    int half = length / 2;
    return tree(values, from, half, size) + tree(values, from + half, half, size);
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

package dev.tidepool.pool;

/**
 * The sizes in which blocks are kept.
 *
 * <p>Powers of two from 1 KiB to 4 KiB, then eight equal steps in each doubling up to 1 GiB, so
 * that a block above 4 KiB is at most 12.5% larger than what was asked for. (Rounding to powers of
 * two alone, as early pinned pools did, doubled the bill.) Larger requests have no class.
 */
final class SizeClasses {
  static final long SMALLEST = 1L << 10;
  static final long LARGEST = 1L << 30;

  /** Above this, a doubling is split. */
  private static final int SPLIT_FROM_BITS = 12;

  private static final int SMALLEST_BITS = 10;
  private static final int LARGEST_BITS = 30;
  private static final int STEP_BITS = 3;

  /** Classes up to 4 KiB: 1, 2 and 4 KiB. */
  private static final int UNSPLIT = SPLIT_FROM_BITS - SMALLEST_BITS + 1;

  /** How many classes there are. */
  static final int COUNT = UNSPLIT + ((LARGEST_BITS - SPLIT_FROM_BITS) << STEP_BITS);

  private SizeClasses() {}

  /** The smallest class that holds so many bytes; bytes are from 1 to {@link #LARGEST}. */
  static int indexOf(long bytes) {
    if (bytes <= SMALLEST) {
      return 0;
    }
    // The doubling (2^bits, 2^(bits+1)] that the size lies in.
    int bits = 63 - Long.numberOfLeadingZeros(bytes - 1);
    if (bits < SPLIT_FROM_BITS) {
      return bits - SMALLEST_BITS + 1;
    }
    int step = (int) ((bytes - 1) >>> (bits - STEP_BITS)) & ((1 << STEP_BITS) - 1);
    return UNSPLIT + ((bits - SPLIT_FROM_BITS) << STEP_BITS) + step;
  }

  /** Bytes of the blocks of a class. */
  static long bytesOf(int index) {
    if (index < UNSPLIT) {
      return SMALLEST << index;
    }
    int split = index - UNSPLIT;
    int bits = SPLIT_FROM_BITS + (split >> STEP_BITS);
    long step = (split & ((1 << STEP_BITS) - 1)) + 1L;
    return (1L << bits) + (step << (bits - STEP_BITS));
  }
}

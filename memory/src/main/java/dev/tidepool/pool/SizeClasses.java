package dev.tidepool.pool;

/**
 * The size classes of blocks.
 *
 * <p>The classes are powers of two from 1 KiB to 4 KiB, then eight equal steps in each doubling up
 * to 1 MiB and 32 up to 1 GiB. So the class of a request above 4 KiB is at most 12.5% larger than
 * the request. Above 1 MiB it is at most 3.2% larger, because a few such blocks are most of a
 * program's memory. Rounding only to powers of two, as early pinned pools did, can double the
 * memory in use. Larger requests have no class.
 *
 * <p>{@link dev.tidepool.pool.block.MemoryPool#take} decides which requests have a class. If a
 * class of 64 KiB or more has no idle block, a block of a larger class may serve the request, up to
 * {@link #largestBlockFor}.
 */
public final class SizeClasses {
  static final long SMALLEST = 1L << 10;
  public static final long LARGEST = 1L << 30;

  /** Blocks of this size and above are never cut from larger ones. */
  private static final long CUT_BELOW = 64L << 10;

  /** Above 2 to this power, each doubling is split into steps. */
  private static final int SPLIT_FROM_BITS = 12;

  private static final int SMALLEST_BITS = 10;
  private static final int LARGEST_BITS = 30;
  private static final int STEP_BITS = 3;

  /** Above 2 to this power, each doubling is split into more steps. */
  private static final int FINE_FROM_BITS = 20;

  private static final int FINE_STEP_BITS = 5;

  /** The number of classes up to 4 KiB: 1, 2 and 4 KiB. */
  private static final int UNSPLIT = SPLIT_FROM_BITS - SMALLEST_BITS + 1;

  /** The number of classes up to 1 MiB. */
  private static final int COARSE = UNSPLIT + ((FINE_FROM_BITS - SPLIT_FROM_BITS) << STEP_BITS);

  /** The number of classes. */
  public static final int COUNT = COARSE + ((LARGEST_BITS - FINE_FROM_BITS) << FINE_STEP_BITS);

  /** Stands for the class of sizes above {@link #LARGEST}. */
  public static final int BEYOND = COUNT;

  /** The number of classes, {@link #BEYOND} included. */
  public static final int COUNT_WITH_BEYOND = BEYOND + 1;

  // Indexed by the number of leading zeros of a size minus 1: how many low bits do not affect the
  // class, and the class of a size whose other bits are 0. A processor cannot predict branches on
  // sizes, so a table is faster than comparisons with the ranges.
  private static final byte[] SHIFTS = new byte[Long.SIZE];
  private static final short[] BASES = new short[Long.SIZE];

  static {
    for (int zeros = 0; zeros < Long.SIZE; zeros++) {
      // The size is in the doubling (2^bits, 2^(bits+1)].
      int bits = Long.SIZE - 1 - zeros;
      if (bits < SPLIT_FROM_BITS || bits >= LARGEST_BITS) {
        SHIFTS[zeros] = Long.SIZE - 1;
        BASES[zeros] = (short) (bits < SPLIT_FROM_BITS ? bits - SMALLEST_BITS + 1 : BEYOND);
      } else if (bits < FINE_FROM_BITS) {
        split(zeros, UNSPLIT, bits, bits - SPLIT_FROM_BITS, STEP_BITS);
      } else {
        split(zeros, COARSE, bits, bits - FINE_FROM_BITS, FINE_STEP_BITS);
      }
    }
    // For a size of 0, the size minus 1 has all bits set.
    BASES[0] = -1;
  }

  private static void split(int zeros, int first, int bits, int doublings, int stepBits) {
    SHIFTS[zeros] = (byte) (bits - stepBits);
    // The highest bit of the size is among the remaining bits.
    BASES[zeros] = (short) (first + ((doublings - 1) << stepBits));
  }

  /** The number of classes whose blocks are cut from larger ones: those below 64 KiB. */
  public static final int CUT_COUNT = classOf(CUT_BELOW);

  private SizeClasses() {}

  /**
   * Returns the smallest class that holds a number of bytes, or {@link #BEYOND} above {@link
   * #LARGEST}.
   *
   * @param bytes at least 0; 0 has the class of 1
   */
  public static int classOf(long bytes) {
    long last = bytes - 1;
    // The mask changes nothing, because the number is below 64, but the compiler does not know.
    int zeros = Long.numberOfLeadingZeros(last | (SMALLEST - 1)) & (Long.SIZE - 1);
    return BASES[zeros] + (int) (last >>> SHIFTS[zeros]);
  }

  /**
   * Like {@link #classOf}, but with eight classes in every doubling, for blocks that serve only
   * sizes of their own class.
   */
  public static int coarseIndexOf(long bytes) {
    int index = classOf(bytes);
    int inOneStep = (1 << (FINE_STEP_BITS - STEP_BITS)) - 1;
    return index < COARSE ? index : COARSE + ((index - COARSE) | inOneStep);
  }

  /** Returns the largest size of a block that may serve a request if none of its class can. */
  public static long largestBlockFor(long bytes) {
    return bytes + bytes / 8;
  }

  public static long bytesOf(int index) {
    if (index < UNSPLIT) {
      return SMALLEST << index;
    }
    return index < COARSE
        ? bytesOf(index - UNSPLIT, SPLIT_FROM_BITS, STEP_BITS)
        : bytesOf(index - COARSE, FINE_FROM_BITS, FINE_STEP_BITS);
  }

  private static long bytesOf(int steps, int fromBits, int stepBits) {
    int bits = fromBits + (steps >> stepBits);
    long step = (steps & ((1 << stepBits) - 1)) + 1L;
    return (1L << bits) + (step << (bits - stepBits));
  }
}

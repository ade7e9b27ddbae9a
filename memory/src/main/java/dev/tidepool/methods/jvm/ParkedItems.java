package dev.tidepool.methods.jvm;

import java.util.Arrays;

/**
 * Records which items of a group are parked: 0 for an item that runs, 1 for one that has returned,
 * else the number of the block or loop whose end the item waits for, plus 2.
 */
final class ParkedItems {
  static final int RETURNED = 1;

  private ParkedItems() {}

  static int waiting(int label) {
    return label + 2;
  }

  /** Returns the first item that runs; -1 if there is none. */
  static int first(int[] parked, int items) {
    for (int i = 0; i < items; i++) {
      if (parked[i] == 0) {
        return i;
      }
    }
    return -1;
  }

  /** Resumes the items that wait for the end of a block or loop. */
  static void release(int[] parked, int items, int waiting) {
    for (int i = 0; i < items; i++) {
      parked[i] = parked[i] == waiting ? 0 : parked[i];
    }
  }

  /** Resumes all items, for a new group. */
  static void clear(int[] parked) {
    Arrays.fill(parked, 0);
  }
}

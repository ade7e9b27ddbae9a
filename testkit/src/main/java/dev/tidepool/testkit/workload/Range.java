package dev.tidepool.testkit.workload;

import java.util.SplittableRandom;

/** Some elements of a buffer. */
record Range(int from, int count) {
  /** Returns a random range of a buffer, in one of eight cases the whole buffer. */
  static Range in(int length, SplittableRandom random) {
    if (random.nextInt(8) == 0) {
      return new Range(0, length);
    }
    int count = random.nextInt(1 + length);
    return new Range(random.nextInt(1 + length - count), count);
  }

  /** Returns elements that are unlikely to occur by accident. */
  static int[] fresh(int count, SplittableRandom random) {
    int[] fresh = new int[count];
    int first = random.nextInt();
    int step = random.nextInt() | 1;
    for (int i = 0; i < count; i++) {
      fresh[i] = first + i * step;
    }
    return fresh;
  }
}

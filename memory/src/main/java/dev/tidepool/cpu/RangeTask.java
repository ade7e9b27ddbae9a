package dev.tidepool.cpu;

/** The work for a range of items. */
@FunctionalInterface
public interface RangeTask {
  /** Does the work for the items {@code from} (inclusive) to {@code to} (exclusive). */
  void run(long from, long to);
}

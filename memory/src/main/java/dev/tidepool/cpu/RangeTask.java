package dev.tidepool.cpu;

/** What is done for a range of items. */
@FunctionalInterface
public interface RangeTask {
  /** Does it for the items {@code from} (inclusive) to {@code to} (exclusive). */
  void run(long from, long to);
}

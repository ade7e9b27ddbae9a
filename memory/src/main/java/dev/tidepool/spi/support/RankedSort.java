package dev.tidepool.spi.support;

import java.util.List;
import java.util.function.ToLongFunction;
import java.util.stream.Stream;

/**
 * Sorts by numbers that other threads change concurrently. Sorts by a copy of the numbers, because
 * sorting needs a stable order.
 */
public final class RankedSort {
  private record Ranked<T>(T item, long rank) {}

  private RankedSort() {}

  /** Returns the items, the lowest rank first. Ranks may be values of {@link System#nanoTime}. */
  public static <T> List<T> by(ToLongFunction<? super T> rank, Stream<? extends T> items) {
    return items
        .map(item -> new Ranked<T>(item, rank.applyAsLong(item)))
        .sorted((a, b) -> Long.signum(a.rank - b.rank))
        .map(Ranked::item)
        .toList();
  }
}

package dev.tidepool.spi.support;

import java.util.List;
import java.util.function.ToLongFunction;
import java.util.stream.Stream;

/**
 * Sorts by a number that other threads change meanwhile. It sorts by a copy of the numbers, because
 * an order that changes cannot be sorted by.
 */
public final class RankedSort {
  private record Ranked<T>(T item, long rank) {}

  private RankedSort() {}

  /** Returns the items, those with the least rank first. Ranks may be values of a nano clock. */
  public static <T> List<T> by(ToLongFunction<? super T> rank, Stream<? extends T> items) {
    return items
        .map(item -> new Ranked<T>(item, rank.applyAsLong(item)))
        .sorted((a, b) -> Long.signum(a.rank - b.rank))
        .map(Ranked::item)
        .toList();
  }
}

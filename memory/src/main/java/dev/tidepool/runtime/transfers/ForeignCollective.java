package dev.tidepool.runtime.transfers;

import dev.tidepool.UnifiedBuffer;
import dev.tidepool.runtime.buffer.ForeignBytes;
import dev.tidepool.runtime.buffer.MemoryRange;
import dev.tidepool.runtime.order.CompositeFuture;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;

/**
 * A {@link Collective} with buffers that a program implements itself. Such buffers have no
 * operation queue. So each piece is a separate copy, in the queue of the library's buffer that
 * takes part in it.
 *
 * @param <A> the Java array that carries elements
 */
final class ForeignCollective<A> {
  private record Piece<A>(UnifiedBuffer<A> source, UnifiedBuffer<A> destination) {
    CompletableFuture<Void> copy() {
      // A foreign buffer may copy on the calling thread.
      return !ForeignBytes.isForeign(source) && ForeignBytes.isForeign(destination)
          ? source.copyToAsync(ForeignBytes.of(destination, true))
          : destination.copyFromAsync(source);
    }
  }

  private final List<Piece<A>> pieces = new ArrayList<>();

  private ForeignCollective() {}

  /** Returns whether any of the buffers is one that a program implements itself. */
  static boolean isNeededBy(UnifiedBuffer<?> whole, List<? extends UnifiedBuffer<?>> parts) {
    return ForeignBytes.isForeign(whole) || parts.stream().anyMatch(ForeignBytes::isForeign);
  }

  static <A> ForeignCollective<A> ofParts(
      UnifiedBuffer<A> whole, List<? extends UnifiedBuffer<A>> parts, boolean scatters) {
    ForeignCollective<A> collective = new ForeignCollective<>();
    long at = 0;
    for (UnifiedBuffer<A> part : parts) {
      UnifiedBuffer<A> share = whole.slice(at, part.length());
      collective.add(scatters ? share : part, scatters ? part : share);
      at += part.length();
    }
    return collective;
  }

  static <A> ForeignCollective<A> broadcast(
      UnifiedBuffer<A> source, List<? extends UnifiedBuffer<A>> destinations) {
    ForeignCollective<A> collective = new ForeignCollective<>();
    for (UnifiedBuffer<A> destination : destinations) {
      collective.add(source, destination.slice(0, source.length()));
    }
    return collective;
  }

  private void add(UnifiedBuffer<A> source, UnifiedBuffer<A> destination) {
    if (source.length() > 0) {
      pieces.add(new Piece<>(source, destination));
    }
  }

  /**
   * Starts all copies. The future completes when all of them have ended, and fails with the first
   * failure.
   *
   * @param threads complete the future if the heap is full when the last copy ends
   */
  CompletableFuture<Void> submit(Executor threads) {
    checkApart();
    List<CompletableFuture<Void>> futures = new ArrayList<>();
    pieces.forEach(piece -> futures.add(piece.copy()));
    return futures.isEmpty()
        ? CompletableFuture.completedFuture(null)
        : CompositeFuture.of(futures, threads);
  }

  /** Checks that no byte is written twice and that no byte that is read is written. */
  private void checkApart() {
    List<MemoryRange> written = new ArrayList<>();
    for (Piece<A> piece : pieces) {
      MemoryRange range = MemoryRange.of(piece.destination());
      if (written.stream().anyMatch(range::overlaps)) {
        throw new IllegalArgumentException(
            "two pieces are written to the same bytes; give each its own");
      }
      written.add(range);
    }
    for (Piece<A> piece : pieces) {
      if (written.stream().anyMatch(MemoryRange.of(piece.source())::overlaps)) {
        throw new IllegalArgumentException(
            "bytes are read for one piece and written by another; give them buffers of their own");
      }
    }
  }
}

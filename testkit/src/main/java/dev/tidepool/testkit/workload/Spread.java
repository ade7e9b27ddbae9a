package dev.tidepool.testkit.workload;

import dev.tidepool.UnifiedBuffer;
import dev.tidepool.transfer.PeerAccess;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;

/**
 * A random distribution from one slot to another: a broadcast, a scatter or a gather of some parts
 * of equal length. The model has done the same. Used by one thread with the slots' locks.
 */
final class Spread {
  private final UnifiedBuffer<int[]> target;
  private final UnifiedBuffer<int[]> source;
  private final int[] written;
  private final int[] read;
  private final int parts;
  private final int count;
  private final SplittableRandom random;
  private final List<UnifiedBuffer<int[]>> slices = new ArrayList<>();

  Spread(
      Slot slot,
      UnifiedBuffer<int[]> target,
      Slot other,
      UnifiedBuffer<int[]> source,
      SplittableRandom random) {
    this.target = target;
    this.source = source;
    this.written = slot.model;
    this.read = other.model;
    this.random = random;
    parts = 1 + random.nextInt(4);
    count = random.nextInt(1 + Math.min(written.length, read.length) / parts);
  }

  /** Requests the distribution asynchronously. */
  CompletableFuture<Void> ask(PeerAccess peers) {
    try {
      return switch (random.nextInt(3)) {
        case 0 -> broadcast(peers);
        case 1 -> scatter(peers);
        default -> gather(peers);
      };
    } finally {
      slices.forEach(UnifiedBuffer::close);
    }
  }

  private CompletableFuture<Void> broadcast(PeerAccess peers) {
    int from = random.nextInt(1 + read.length - count);
    List<UnifiedBuffer<int[]>> destinations = new ArrayList<>();
    for (int i = 0; i < parts; i++) {
      int to = placeOf(i, written.length);
      System.arraycopy(read, from, written, to, count);
      destinations.add(slice(target, to, count));
    }
    return peers.broadcastAsync(slice(source, from, count), destinations);
  }

  private CompletableFuture<Void> scatter(PeerAccess peers) {
    int from = random.nextInt(1 + read.length - parts * count);
    List<UnifiedBuffer<int[]>> destinations = new ArrayList<>();
    for (int i = 0; i < parts; i++) {
      int to = placeOf(i, written.length);
      System.arraycopy(read, from + i * count, written, to, count);
      destinations.add(slice(target, to, count));
    }
    return peers.scatterAsync(slice(source, from, parts * count), destinations);
  }

  private CompletableFuture<Void> gather(PeerAccess peers) {
    int to = random.nextInt(1 + written.length - parts * count);
    List<UnifiedBuffer<int[]>> sources = new ArrayList<>();
    for (int i = 0; i < parts; i++) {
      int from = placeOf(i, read.length);
      System.arraycopy(read, from, written, to + i * count, count);
      sources.add(slice(source, from, count));
    }
    return peers.gatherAsync(sources, slice(target, to, parts * count));
  }

  /** Returns the position of a part, which overlaps no other part. */
  private int placeOf(int part, int length) {
    int room = length / parts;
    return part * room + random.nextInt(1 + room - count);
  }

  private UnifiedBuffer<int[]> slice(UnifiedBuffer<int[]> of, int from, int length) {
    UnifiedBuffer<int[]> slice = of.slice(from, length);
    slices.add(slice);
    return slice;
  }
}

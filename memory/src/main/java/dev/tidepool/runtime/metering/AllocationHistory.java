package dev.tidepool.runtime.metering;

import dev.tidepool.diagnostics.Snapshot;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/**
 * The latest allocations and frees of a manager, in a ring buffer. A new entry replaces the oldest.
 *
 * <p>Thread-safe, without waiting: a reader misses entries that are overwritten while it reads.
 */
public final class AllocationHistory {
  private final long createdNanos;
  private final AtomicLong next = new AtomicLong();
  private final AtomicReferenceArray<@Nullable Entry> ring;

  private record Entry(long number, long nanos, long bytes, String tag) {}

  /**
   * Creates a history without events.
   *
   * @param capacity the number of events that are kept, at least 1
   * @param createdNanos when the manager was created
   */
  AllocationHistory(int capacity, long createdNanos) {
    this.createdNanos = createdNanos;
    ring = new AtomicReferenceArray<>(capacity);
  }

  /**
   * Adds an event.
   *
   * @param bytes allocated; negative for bytes that were freed
   */
  void add(long bytes, String tag) {
    long number = next.getAndIncrement();
    try {
      Entry entry = new Entry(number, System.nanoTime() - createdNanos, bytes, tag);
      ring.setRelease((int) (number % ring.length()), entry);
    } catch (OutOfMemoryError e) {
      // A missing entry does less harm than losing the block that the caller holds.
      return;
    }
  }

  /** Returns the number of events so far. */
  public long count() {
    return next.get();
  }

  /** Returns the entries that are kept, oldest first. */
  public List<Snapshot.Change> changes() {
    List<Snapshot.Change> changes = new ArrayList<>();
    long end = next.get();
    for (long number = Math.max(0, end - ring.length()); number < end; number++) {
      Entry entry = ring.getAcquire((int) (number % ring.length()));
      if (entry != null && entry.number == number) {
        changes.add(new Snapshot.Change(Duration.ofNanos(entry.nanos), entry.bytes, entry.tag));
      }
    }
    return changes;
  }
}

package dev.tidepool.stream;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * The chunks that are still to be done, shared by all lanes, with how it ends: all done, a failure,
 * or a cancellation.
 *
 * <p>Locking: {@link #take} is lock-free while nothing was given back; everything that happens
 * rarely is under this object's monitor. {@link #stopped} is read without it, before each chunk.
 */
final class Chunks {
  /** Elements {@code from} to {@code from + count}. */
  record Range(long from, long count) {}

  private final long length;
  private final AtomicLong next = new AtomicLong();
  private final AtomicLong done = new AtomicLong();
  private final ArrayDeque<Range> returned = new ArrayDeque<>();
  private volatile long size;
  private volatile boolean hasReturned;
  private volatile boolean stopped;
  private boolean cancelled;
  private final CountDownLatch running;
  private @Nullable Throwable failure;

  Chunks(long length, ChunkPlan plan) {
    this.length = length;
    this.size = plan.chunk();
    this.running = new CountDownLatch(plan.lanes());
  }

  /** Elements of a chunk, which shrink when memory runs out. */
  long size() {
    return size;
  }

  /** The next chunk, or null if there is none or everything is to stop. */
  @Nullable Range take() {
    if (stopped) {
      return null;
    }
    if (hasReturned) {
      synchronized (this) {
        Range range = returned.poll();
        hasReturned = !returned.isEmpty();
        if (range != null) {
          return range;
        }
      }
    }
    long count = size;
    long from = next.getAndAdd(count);
    return from < length ? new Range(from, Math.min(count, length - from)) : null;
  }

  /** Whether everything is to stop. */
  boolean isStopped() {
    return stopped;
  }

  /** Some elements were read, computed and written. */
  void completed(long elements) {
    done.addAndGet(elements);
  }

  long completed() {
    return done.get();
  }

  /**
   * A chunk of {@code count} elements found no memory: from now on they are at most half of it.
   * Answers whether that is worth another try.
   */
  synchronized boolean halve(long count) {
    if (count <= ChunkPlan.SMALLEST_CHUNK) {
      return false;
    }
    size = Math.min(size, Math.max(ChunkPlan.SMALLEST_CHUNK, count / 2));
    return true;
  }

  /**
   * A lane gives up for lack of memory, leaves its ranges to others, and ends; false if it is the
   * last one, which must fail instead.
   */
  synchronized boolean giveUp(Collection<Range> ranges) {
    if (running.getCount() == 1) {
      return false;
    }
    returned.addAll(ranges);
    hasReturned = true;
    running.countDown();
    return true;
  }

  /** A lane failed: everything stops. The first failure is the cause, others are attached to it. */
  synchronized void fail(Throwable thrown) {
    stopped = true;
    if (failure == null) {
      failure = thrown;
    } else if (!failure.equals(thrown)) {
      failure.addSuppressed(thrown);
    }
  }

  /** Everything stops at the next chunk. */
  synchronized void cancel() {
    if (running.getCount() > 0) {
      cancelled = true;
      stopped = true;
    }
  }

  /** Whether somebody cancelled before all was done. */
  synchronized boolean isCancelled() {
    return cancelled && done.get() < length;
  }

  synchronized @Nullable Throwable failure() {
    return failure;
  }

  /**
   * A lane found nothing more to do and ends. Answers false if a range was given back meanwhile:
   * then the lane must go on.
   */
  synchronized boolean leave() {
    if (!stopped && !returned.isEmpty()) {
      return false;
    }
    running.countDown();
    return true;
  }

  /** Waits until all lanes have left, or for some time; answers whether they have. */
  boolean await(long milliseconds) throws InterruptedException {
    return running.await(milliseconds, TimeUnit.MILLISECONDS);
  }

  /** The ranges that {@code range} falls into when chunks have at most {@code count} elements. */
  static List<Range> split(Range range, long count) {
    List<Range> parts = new ArrayList<>();
    for (long at = 0; at < range.count(); at += count) {
      parts.add(new Range(range.from() + at, Math.min(count, range.count() - at)));
    }
    return parts;
  }
}

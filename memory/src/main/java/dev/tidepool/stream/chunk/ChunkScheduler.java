package dev.tidepool.stream.chunk;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * What is still to be done, shared by the workers of all accelerators, with how it ends: all done,
 * a failure, or a cancellation.
 *
 * <p><b>Shares.</b> Workers take chunks when they have nothing to do, so faster accelerators take
 * more of them. One accelerator alone takes whole chunks. Several begin with the smallest, which
 * are measured, and later take at most half of the part of what is left that is theirs by speed:
 * guided self-scheduling (Polychronopoulos and Kuck, 1987), weighted as in factoring (Hummel et
 * al., 1996). So all end at nearly the same time. A worker which would still carry its chunk when
 * the others have done all the rest stands by. Of accelerators that are this machine's processor
 * under different drivers the fastest goes on alone: together they would only share its cores.
 *
 * <p>Chunks begin at multiples of {@link ChunkPlan#SMALLEST_CHUNK}.
 *
 * <p>Locking: everything is under one lock, which is held for some arithmetic per chunk. A worker
 * that stands by waits for its condition. {@link #stopped} is also read without it.
 */
public final class ChunkScheduler {
  /** Elements {@code from} to {@code from + count}. */
  public record Range(long from, long count) {
    /** Returns the element behind the last one. */
    public long end() {
      return from + count;
    }
  }

  /** The smallest part of a chunk that is worth a worker. */
  private static final int LEAST = 16;

  private static final int GROWTH = 8;

  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();
  private final List<AcceleratorRate> rates;
  private final ArrayDeque<Range> open;
  private final long length;
  private final CountDownLatch running;
  private long left;
  private long done;
  private boolean cancelled;
  private volatile boolean stopped;
  private @Nullable Throwable failure;

  /**
   * Work for some accelerators.
   *
   * @param length elements of all
   * @param open what of them is to be done
   * @param workers of all accelerators together
   */
  public ChunkScheduler(
      long length, Collection<Range> open, List<AcceleratorRate> rates, int workers) {
    this.length = length;
    this.open = new ArrayDeque<>(open);
    this.left = open.stream().mapToLong(Range::count).sum();
    this.done = length - left;
    this.rates = List.copyOf(rates);
    this.running = new CountDownLatch(workers);
  }

  /**
   * Returns the next chunk for a worker of an accelerator, or null if there is none or everything
   * is to stop. Waits while others may yet leave some to it.
   */
  public @Nullable Range take(AcceleratorRate rate) {
    lock.lock();
    try {
      Range range = poll(rate);
      while (range == null && !stopped && rate.isActive() && othersAtWork(rate)) {
        changed.awaitUninterruptibly();
        range = poll(rate);
      }
      return range;
    } finally {
      lock.unlock();
    }
  }

  /** Returns what {@link #take} gives if it need not wait; else null. */
  @Nullable Range poll(AcceleratorRate rate) {
    lock.lock();
    try {
      long count = stopped || !rate.isActive() || open.isEmpty() ? 0 : portion(rate);
      if (count == 0) {
        return null;
      }
      rate.took();
      return carve(count);
    } finally {
      lock.unlock();
    }
  }

  private Range carve(long count) {
    Range first = open.remove();
    long aligned = Math.max(ChunkPlan.SMALLEST_CHUNK, count - count % ChunkPlan.SMALLEST_CHUNK);
    long taken = count >= first.count() ? first.count() : Math.min(aligned, first.count());
    if (taken < first.count()) {
      open.push(new Range(first.from() + taken, first.count() - taken));
    }
    left -= taken;
    return new Range(first.from(), taken);
  }

  /** Returns what others carry may come back, that of a failed accelerator's workers too. */
  private boolean othersAtWork(AcceleratorRate rate) {
    return rates.stream()
        .anyMatch(
            other -> other != rate && (other.isBusy() || (other.isActive() && !open.isEmpty())));
  }

  /** Returns the elements that a worker should take now; 0 if it should rather stand by. */
  private long portion(AcceleratorRate rate) {
    if (rates.size() == 1) {
      return rate.size();
    }
    List<AcceleratorRate> rivals =
        rates.stream().filter(other -> other != rate && other.isActive()).toList();
    if (rivals.isEmpty()) {
      return rate.size();
    }
    if (!rate.isMeasured()) {
      return Math.min(ChunkPlan.SMALLEST_CHUNK, rate.size());
    }
    // What small chunks tell of larger ones is trusted step by step.
    long most = Math.min(rate.size(), GROWTH * rate.largestMeasured());
    long least = Math.min(most, Math.max(ChunkPlan.SMALLEST_CHUNK, rate.size() / LEAST));
    if (rivals.stream().anyMatch(other -> outruns(other, rate))) {
      return 0;
    }
    double others = 0;
    double fastest = 0;
    for (AcceleratorRate rival : rivals) {
      if (rivals.stream().noneMatch(other -> other != rival && outruns(other, rival))
          && !outruns(rate, rival)) {
        others += rival.rate();
        fastest = Math.max(fastest, rival.workerRate());
      }
    }
    double fair = left * rate.workerRate() / (rate.rate() + others) / 2;
    long count = Math.min(Math.max(least, (long) fair), most);
    boolean lastToEnd = Math.min(count, left) / rate.workerRate() > left / others;
    return rate.workerRate() < fastest && lastToEnd ? 0 : count;
  }

  /** Returns whether two accelerators are the same processor and the first makes more of it. */
  private boolean outruns(AcceleratorRate one, AcceleratorRate other) {
    return one.isOnThisProcessor()
        && other.isOnThisProcessor()
        && one.isMeasured()
        && other.isMeasured()
        && (one.rate() > other.rate()
            || (one.rate() == other.rate() && rates.indexOf(one) < rates.indexOf(other)));
  }

  /** Returns whether everything is to stop. */
  public boolean isStopped() {
    return stopped;
  }

  /**
   * A part of what was taken was read, computed and written.
   *
   * @param nanos what that took, or 0 if it tells nothing of the speed
   */
  public void completed(AcceleratorRate rate, long elements, long nanos) {
    lock.lock();
    try {
      done += elements;
      if (nanos > 0) {
        rate.measured(elements, nanos);
      }
    } finally {
      lock.unlock();
    }
  }

  /** All of what was taken is done, or was given up. */
  public void ended(AcceleratorRate rate) {
    lock.lock();
    try {
      rate.ended();
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /** Elements that are read, computed and written. */
  public long completed() {
    lock.lock();
    try {
      return done;
    } finally {
      lock.unlock();
    }
  }

  /**
   * A chunk of {@code count} elements found no memory: from now on the accelerator's are at most
   * half of it. Returns whether that is worth another try.
   */
  public static boolean halve(AcceleratorRate rate, long count) {
    if (count <= ChunkPlan.SMALLEST_CHUNK) {
      return false;
    }
    long half = count / 2 - count / 2 % ChunkPlan.SMALLEST_CHUNK;
    rate.shrinkTo(Math.max(ChunkPlan.SMALLEST_CHUNK, half));
    return true;
  }

  /** What a worker does that found no memory for the smallest chunk. */
  public enum WithoutMemory {
    /** It has left its ranges to others, and ends. */
    LEAVE,
    /** It is the last one, but others held memory while it tried: it tries again. */
    RETRY,
    /** It is the last one, and held all the memory there was: it fails. */
    FAIL
  }

  public long workersLeft() {
    return running.getCount();
  }

  /**
   * A worker found no memory for the smallest chunk.
   *
   * @param workersBefore {@link #workersLeft} before the worker tried
   */
  public WithoutMemory withoutMemory(
      AcceleratorRate rate, Collection<Range> ranges, long workersBefore) {
    lock.lock();
    try {
      int able =
          rates.stream().filter(AcceleratorRate::isActive).mapToInt(AcceleratorRate::workers).sum();
      if (able == (rate.isActive() ? 1 : 0)) {
        return workersLeft() < workersBefore ? WithoutMemory.RETRY : WithoutMemory.FAIL;
      }
      giveBack(ranges);
      left(rate);
      return WithoutMemory.LEAVE;
    } finally {
      lock.unlock();
    }
  }

  /**
   * An accelerator failed a worker, which leaves its ranges to the other accelerators and ends;
   * false if there are none, and it must fail. The accelerator's other workers take no further
   * chunk.
   */
  public boolean dropOut(AcceleratorRate rate, Collection<Range> ranges, Throwable thrown) {
    lock.lock();
    try {
      if (stopped || rates.stream().noneMatch(other -> other != rate && other.isActive())) {
        return false;
      }
      rate.failed(thrown);
      giveBack(ranges);
      left(rate);
      return true;
    } finally {
      lock.unlock();
    }
  }

  private void giveBack(Collection<Range> ranges) {
    open.addAll(ranges);
    left += ranges.stream().mapToLong(Range::count).sum();
  }

  /**
   * A worker failed: everything stops. The first failure is the cause, others are attached to it if
   * the heap has room for that. Does not throw, because the worker has still to leave.
   */
  public void fail(Throwable thrown) {
    lock.lock();
    try {
      stopped = true;
      changed.signalAll();
      if (failure == null) {
        failure = thrown;
        for (int i = 0; i < rates.size(); i++) {
          attach(rates.get(i).failure());
        }
      } else {
        attach(thrown);
      }
    } catch (OutOfMemoryError e) {
      // The first failure tells enough.
      return;
    } finally {
      lock.unlock();
    }
  }

  private void attach(@Nullable Throwable thrown) {
    if (failure != null && thrown != null && !failure.equals(thrown)) {
      failure.addSuppressed(thrown);
    }
  }

  /** Everything stops at the next chunk. */
  public void cancel() {
    lock.lock();
    try {
      if (running.getCount() > 0) {
        cancelled = true;
        stopped = true;
        changed.signalAll();
      }
    } finally {
      lock.unlock();
    }
  }

  /** Returns whether it was cancelled before all was done, or if there was nothing to do. */
  public boolean isCancelled() {
    lock.lock();
    try {
      return cancelled && (done < length || length == 0);
    } finally {
      lock.unlock();
    }
  }

  /** Returns the first failure; null if there was none. */
  public @Nullable Throwable failure() {
    lock.lock();
    try {
      return failure;
    } finally {
      lock.unlock();
    }
  }

  /**
   * A worker found nothing more to do and ends. Returns false if a range was given back meanwhile:
   * then the worker must go on.
   */
  public boolean leave(AcceleratorRate rate) {
    lock.lock();
    try {
      if (!stopped && rate.isActive() && !open.isEmpty()) {
        return false;
      }
      left(rate);
      return true;
    } finally {
      lock.unlock();
    }
  }

  private void left(AcceleratorRate rate) {
    rate.workerLeft();
    running.countDown();
    changed.signalAll();
  }

  /** Waits until all workers have left, or for some time; returns whether they have. */
  public boolean await(long milliseconds) throws InterruptedException {
    return running.await(milliseconds, TimeUnit.MILLISECONDS);
  }

  /** The ranges that {@code range} falls into when chunks have at most {@code count} elements. */
  public static List<Range> split(Range range, long count) {
    List<Range> parts = new ArrayList<>();
    for (long at = 0; at < range.count(); at += count) {
      parts.add(new Range(range.from() + at, Math.min(count, range.count() - at)));
    }
    return parts;
  }
}

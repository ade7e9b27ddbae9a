package dev.tidepool.stream.chunk;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.SequencedCollection;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * The remaining work of a pipeline, which the workers of all accelerators share, and how it ends:
 * completely, by a failure, or by a cancellation.
 *
 * <p><b>Shares.</b> Workers take chunks when they have nothing to do, so faster accelerators take
 * more of them. One accelerator alone takes whole chunks. Several begin with the smallest, which
 * are measured, and later take at most half of the part of what is left that is theirs by speed:
 * guided self-scheduling (Polychronopoulos and Kuck, 1987), weighted as in factoring (Hummel et
 * al., 1996). So all end at nearly the same time. A worker that would still compute its chunk when
 * the others have done all the rest waits. If several accelerators are this machine's processor
 * under different drivers, only the fastest continues: together they would share its cores.
 *
 * <p><b>Lead.</b> Workers may be kept near the oldest range that is under way, for sinks that take
 * elements in their order. A worker that is too far ahead waits before it takes a range, so every
 * range that was taken comes to its end. What is given back is taken again before anything else.
 *
 * <p>Chunks begin at multiples of {@link ChunkPlan#SMALLEST_CHUNK}.
 *
 * <p>Locking: one lock guards everything, and is held only for arithmetic. A waiting worker waits
 * for the condition of the lock. {@link #stopped} is also read without the lock.
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
  private final List<Range> underWay = new ArrayList<>();
  private final long length;
  private final long lead;
  private final CountDownLatch running;
  private long left;
  private long done;
  private boolean cancelled;
  private volatile boolean stopped;
  private @Nullable Throwable failure;

  /**
   * Creates the work of some accelerators.
   *
   * @param length the number of all elements
   * @param open the ranges that remain to be done
   * @param workers the workers of all accelerators together
   * @param lead the elements from the oldest range under way to the last that may be taken
   */
  public ChunkScheduler(
      long length, Collection<Range> open, List<AcceleratorRate> rates, int workers, long lead) {
    this.length = length;
    this.lead = lead;
    this.open = new ArrayDeque<>(open);
    this.left = open.stream().mapToLong(Range::count).sum();
    this.done = length - left;
    this.rates = List.copyOf(rates);
    this.running = new CountDownLatch(workers);
  }

  /**
   * Returns the next chunk for a worker of an accelerator, or null if there is none or the pipeline
   * stops. Waits while others may still leave a chunk to it, and while the next chunk is too far
   * ahead of theirs.
   */
  public @Nullable Range take(AcceleratorRate rate) {
    lock.lock();
    try {
      Range range = poll(rate);
      while (range == null
          && !stopped
          && rate.isActive()
          && (othersAtWork(rate) || isTooFarAhead())) {
        changed.awaitUninterruptibly();
        range = poll(rate);
      }
      return range;
    } finally {
      lock.unlock();
    }
  }

  /** Like {@link #take}, but returns null instead of waiting. */
  @Nullable Range poll(AcceleratorRate rate) {
    lock.lock();
    try {
      boolean none = stopped || !rate.isActive() || open.isEmpty() || isTooFarAhead();
      long count = none ? 0 : portion(rate);
      if (count == 0) {
        return null;
      }
      rate.took();
      Range range = carve(count);
      underWay.add(range);
      return range;
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

  private boolean isTooFarAhead() {
    Range next = open.peek();
    return next != null && underWay.stream().anyMatch(range -> next.from() - range.from() >= lead);
  }

  /**
   * Returns whether other accelerators have chunks in flight, which may come back, or may take open
   * ones.
   */
  private boolean othersAtWork(AcceleratorRate rate) {
    return rates.stream()
        .anyMatch(
            other -> other != rate && (other.isBusy() || (other.isActive() && !open.isEmpty())));
  }

  /** Returns the elements that a worker should take now; 0 if it should wait. */
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
    // The speed that small chunks show is trusted for larger ones step by step.
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

  /** Returns whether both accelerators are this machine's processor, and the first is faster. */
  private boolean outruns(AcceleratorRate one, AcceleratorRate other) {
    return one.isOnThisProcessor()
        && other.isOnThisProcessor()
        && one.isMeasured()
        && other.isMeasured()
        && (one.rate() > other.rate()
            || (one.rate() == other.rate() && rates.indexOf(one) < rates.indexOf(other)));
  }

  /** Returns whether the workers must stop. */
  public boolean isStopped() {
    return stopped;
  }

  /**
   * Records that a part of a chunk was read, computed and written.
   *
   * @param nanos the time that it took, or 0 if the time says nothing about the speed
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

  /** Records that a chunk is done, or was given up. */
  public void ended(AcceleratorRate rate, Range range) {
    lock.lock();
    try {
      rate.ended();
      underWay.remove(range);
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /** Returns the number of elements that were read, computed and written. */
  public long completed() {
    lock.lock();
    try {
      return done;
    } finally {
      lock.unlock();
    }
  }

  /**
   * Halves the accelerator's chunks after a chunk of {@code count} elements found no memory.
   * Returns false if chunks cannot be smaller.
   */
  public static boolean halve(AcceleratorRate rate, long count) {
    if (count <= ChunkPlan.SMALLEST_CHUNK) {
      return false;
    }
    long half = count / 2 - count / 2 % ChunkPlan.SMALLEST_CHUNK;
    rate.shrinkTo(Math.max(ChunkPlan.SMALLEST_CHUNK, half));
    return true;
  }

  /** The next step of a worker that found no memory for the smallest chunk. */
  public enum WithoutMemory {
    /** The worker has given its ranges back, and ends. */
    LEAVE,
    /** The worker is the last one, but others held memory while it tried: it tries again. */
    RETRY,
    /** The worker is the last one, and no other held memory: it fails. */
    FAIL
  }

  public long workersLeft() {
    return running.getCount();
  }

  /**
   * Decides what a worker does that found no memory for the smallest chunk.
   *
   * @param workersBefore {@link #workersLeft} before the worker tried
   */
  public WithoutMemory withoutMemory(
      AcceleratorRate rate, SequencedCollection<Range> ranges, long workersBefore) {
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
   * Excludes an accelerator that failed. The worker's ranges go to the other accelerators, and its
   * accelerator's other workers take no further chunk. Returns false if there is no other
   * accelerator; the worker must then fail.
   */
  public boolean dropOut(
      AcceleratorRate rate, SequencedCollection<Range> ranges, Throwable thrown) {
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

  private void giveBack(SequencedCollection<Range> ranges) {
    ranges.reversed().forEach(open::push);
    left += ranges.stream().mapToLong(Range::count).sum();
  }

  /**
   * Stops all workers after a failure. Later failures are added to the first one as suppressed
   * exceptions, if the heap has room. Does not throw, because the worker must still leave.
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
      // The first failure is sufficient.
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

  /** Stops all workers before their next chunks. */
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

  /**
   * Returns whether the pipeline was cancelled before all elements were done, or had none to do.
   */
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
   * Removes a worker that found no further chunk. Returns false if a range was given back
   * meanwhile; the worker must then continue.
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

  /** Divides a range into ranges of at most {@code count} elements. */
  public static List<Range> split(Range range, long count) {
    List<Range> parts = new ArrayList<>();
    for (long at = 0; at < range.count(); at += count) {
      parts.add(new Range(range.from() + at, Math.min(count, range.count() - at)));
    }
    return parts;
  }
}

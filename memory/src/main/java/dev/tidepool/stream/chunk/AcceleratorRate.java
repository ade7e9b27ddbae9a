package dev.tidepool.stream.chunk;

import dev.tidepool.AcceleratorKind;
import dev.tidepool.UnifiedMemoryManager;
import org.jspecify.annotations.Nullable;

/**
 * The progress of one accelerator in a pipeline: the size of its chunks, and the speed of its
 * workers.
 *
 * <p>Locking: everything but {@link #size} is read and written under the lock of {@link
 * ChunkScheduler}.
 */
public final class AcceleratorRate {
  /** The weight of the latest chunk in what is measured. */
  private static final double LATEST = 0.5;

  private final String accelerator;
  private final boolean onThisProcessor;
  private volatile long size;
  private int workers;
  private int inFlight;
  private double elementsPerNano;
  private long largest;
  private @Nullable Throwable failure;

  AcceleratorRate(String accelerator, boolean onThisProcessor, ChunkPlan plan) {
    this.accelerator = accelerator;
    this.onThisProcessor = onThisProcessor;
    this.size = plan.chunk();
    this.workers = plan.workers();
  }

  /** Returns the rate of a manager's accelerator, before anything was measured. */
  public static AcceleratorRate of(UnifiedMemoryManager memory, ChunkPlan plan) {
    return new AcceleratorRate(
        memory.accelerator().id(), memory.accelerator().kind() == AcceleratorKind.CPU, plan);
  }

  /** Returns the accelerator's id. */
  public String accelerator() {
    return accelerator;
  }

  /** Returns whether the accelerator is this machine's processor, under any driver. */
  boolean isOnThisProcessor() {
    return onThisProcessor;
  }

  /** Returns the most elements of a chunk. They shrink when memory runs out. */
  public long size() {
    return size;
  }

  void shrinkTo(long elements) {
    size = Math.min(size, elements);
  }

  /** Returns how many of its workers have not left. */
  int workers() {
    return workers;
  }

  /** Returns whether the accelerator has workers and has not failed. */
  boolean isActive() {
    return workers > 0 && failure == null;
  }

  boolean isMeasured() {
    return elementsPerNano > 0;
  }

  /**
   * Returns the elements that one worker computes in a nanosecond; 0 before the first measurement.
   */
  double workerRate() {
    return elementsPerNano;
  }

  /** Returns the elements of the largest chunk that was measured. */
  long largestMeasured() {
    return largest;
  }

  /** Returns the elements that all workers compute in a nanosecond. */
  double rate() {
    return elementsPerNano * workers;
  }

  void measured(long elements, long nanos) {
    largest = Math.max(largest, elements);
    double latest = elements / (double) Math.max(1, nanos);
    elementsPerNano = isMeasured() ? LATEST * latest + (1 - LATEST) * elementsPerNano : latest;
  }

  boolean isBusy() {
    return inFlight > 0;
  }

  void took() {
    inFlight++;
  }

  void ended() {
    inFlight--;
  }

  void workerLeft() {
    workers--;
  }

  /**
   * Returns the failure that stopped this accelerator while others continued; null if there is
   * none.
   */
  public @Nullable Throwable failure() {
    return failure;
  }

  void failed(Throwable thrown) {
    if (failure == null) {
      failure = thrown;
    }
  }
}

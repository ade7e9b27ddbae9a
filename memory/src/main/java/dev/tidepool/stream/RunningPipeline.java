package dev.tidepool.stream;

import java.util.Map;
import java.util.concurrent.CancellationException;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * Runs chunked pipelines, one after another, so that other threads can cancel the one that runs.
 *
 * <p>Any thread may call {@link #cancel()}; one thread calls the other methods. {@link #run}
 * refuses a second thread.
 */
final class RunningPipeline {
  private final AtomicReference<@Nullable ChunkedPipeline> current = new AtomicReference<>();
  private volatile boolean cancelled;
  // Of the last pipeline, which itself is not kept: it refers to all arrays.
  private Map<String, Throwable> dropped = Map.of();

  /**
   * Runs a pipeline; returns when it has ended.
   *
   * @throws IllegalStateException if one runs already, as when a consumer starts its own pipeline
   *     again, which would wait for that consumer
   */
  void run(ChunkedPipeline pipeline) {
    if (!current.compareAndSet(null, pipeline)) {
      throw new IllegalStateException("the pipeline runs already; make another one");
    }
    if (cancelled) {
      pipeline.cancel();
    }
    try {
      pipeline.run();
    } finally {
      current.set(null);
      dropped = pipeline.dropped();
    }
  }

  /**
   * Returns the accelerators that failed in the last pipeline while others continued, by id, with
   * their failures.
   */
  Map<String, Throwable> dropped() {
    ChunkedPipeline pipeline = current.get();
    return pipeline == null ? dropped : pipeline.dropped();
  }

  /**
   * Checks that {@link #cancel()} was not called.
   *
   * @throws CancellationException if it was
   */
  void checkNotCancelled() {
    if (cancelled) {
      throw new CancellationException("the pipeline was cancelled");
    }
  }

  /**
   * Stops the running pipeline before its next chunks, and every later one at its start. Their runs
   * throw.
   */
  void cancel() {
    cancelled = true;
    ChunkedPipeline pipeline = current.get();
    if (pipeline != null) {
      pipeline.cancel();
    }
  }
}

package dev.tidepool.stream;

import java.util.Map;
import java.util.concurrent.CancellationException;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * Runs chunked pipelines, one after another, so that other threads can cancel the one that runs.
 *
 * <p>{@link #cancel()} is for any thread, the rest for one. A second thread that calls {@link #run}
 * meanwhile is refused.
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
   * Returns the accelerators that failed in the last pipeline while others went on, by id, with
   * what failed.
   */
  Map<String, Throwable> dropped() {
    ChunkedPipeline pipeline = current.get();
    return pipeline == null ? dropped : pipeline.dropped();
  }

  /**
   * Does nothing before {@link #cancel()}.
   *
   * @throws CancellationException after it
   */
  void checkNotCancelled() {
    if (cancelled) {
      throw new CancellationException("the pipeline was cancelled");
    }
  }

  /**
   * Stops the pipeline that runs before its next chunks, and every later one at its beginning; they
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

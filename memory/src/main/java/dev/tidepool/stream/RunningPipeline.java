package dev.tidepool.stream;

import java.util.Map;
import java.util.concurrent.CancellationException;
import org.jspecify.annotations.Nullable;

/**
 * Runs chunked pipelines, one after another, so that other threads can cancel the one that runs.
 *
 * <p>{@link #cancel()} is for any thread, the rest for one.
 */
final class RunningPipeline {
  private volatile @Nullable ChunkedPipeline current;
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
    if (current != null) {
      throw new IllegalStateException("the pipeline runs already; make another one");
    }
    current = pipeline;
    if (cancelled) {
      pipeline.cancel();
    }
    try {
      pipeline.run();
    } finally {
      current = null;
      dropped = pipeline.dropped();
    }
  }

  /**
   * Returns the accelerators that failed in the last pipeline while others went on, by id, with
   * what failed.
   */
  Map<String, Throwable> dropped() {
    ChunkedPipeline pipeline = current;
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
    ChunkedPipeline pipeline = current;
    if (pipeline != null) {
      pipeline.cancel();
    }
  }
}

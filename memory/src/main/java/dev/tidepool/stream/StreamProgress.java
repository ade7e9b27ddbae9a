package dev.tidepool.stream;

/**
 * A listener for the progress of a pipeline. It is called at most ten times a second, and once more
 * when everything is written, on the thread that runs the pipeline. After a failure or a
 * cancellation no such last call is made. A pipeline over a stream of arrays computes some of the
 * arrays at a time, and also calls the listener when the results of these are written.
 */
@FunctionalInterface
public interface StreamProgress {
  /** A listener that ignores all calls. */
  StreamProgress NONE =
      (_, _) -> {
        // No listener was given.
      };

  /**
   * Receives the number of bytes that were read and written so far.
   *
   * @param done the bytes so far, which never decrease
   * @param total the bytes at the end, as far as they are known for a stream of arrays
   */
  void moved(long done, long total);
}

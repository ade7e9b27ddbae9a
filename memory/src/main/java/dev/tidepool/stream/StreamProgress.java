package dev.tidepool.stream;

/**
 * Called with how far a pipeline is: rarely, at most ten times a second and once at the end, from
 * the thread that runs it.
 */
@FunctionalInterface
public interface StreamProgress {
  /** Ignores all calls. */
  StreamProgress NONE =
      (_, _) -> {
        // No listener was given.
      };

  /**
   * Bytes that were read and written so far.
   *
   * @param done never falls
   * @param total what {@code done} is at the end, as far as that is known of a stream of arrays
   */
  void moved(long done, long total);
}

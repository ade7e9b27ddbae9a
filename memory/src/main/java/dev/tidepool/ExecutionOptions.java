package dev.tidepool;

import java.util.Optional;

/**
 * How an orchestrator runs a kernel.
 *
 * @param accelerator the accelerator that runs the kernel: its id ({@code cuda:0}), its kind for
 *     the best of that kind ({@code cuda}), or {@code auto} for the first of the list. Empty runs
 *     the kernel where the most bytes of its buffers are
 * @param range the range of a hand-written kernel; empty takes one item for each element
 * @param preferred whether the kernel runs as if {@code accelerator} were empty where there is no
 *     such accelerator, or where it runs none of the kernel's sources; otherwise that is an error
 */
public record ExecutionOptions(
    Optional<String> accelerator, Optional<LaunchRange> range, boolean preferred) {
  /** Options whose accelerator is required. */
  public ExecutionOptions(Optional<String> accelerator, Optional<LaunchRange> range) {
    this(accelerator, range, false);
  }

  /** Where the data is, over all of it. */
  public static ExecutionOptions defaults() {
    return new ExecutionOptions(Optional.empty(), Optional.empty());
  }

  /** These options on an accelerator, by id or kind; no other one takes its place. */
  public ExecutionOptions on(String accelerator) {
    return new ExecutionOptions(Optional.of(accelerator), range, false);
  }

  /**
   * These options on an accelerator, by id or kind, if it is there and runs the kernel; otherwise
   * where the data is.
   */
  public ExecutionOptions preferring(String accelerator) {
    return new ExecutionOptions(Optional.of(accelerator), range, true);
  }

  /** These options over a range. */
  public ExecutionOptions over(LaunchRange range) {
    return new ExecutionOptions(accelerator, Optional.of(range), preferred);
  }
}

package dev.tidepool;

import java.util.Optional;

/**
 * How an orchestrator runs a kernel.
 *
 * @param accelerator the id of the accelerator that runs the kernel; no other one takes its place
 *     if it cannot. Empty runs the kernel where the most bytes of its buffers are
 * @param range the range of a hand-written kernel; empty takes one item for each element
 */
public record ExecutionOptions(Optional<String> accelerator, Optional<LaunchRange> range) {
  /** Where the data is, over all of it. */
  public static ExecutionOptions defaults() {
    return new ExecutionOptions(Optional.empty(), Optional.empty());
  }

  /** These options on an accelerator, by id; {@code auto} is the first of the list. */
  public ExecutionOptions on(String accelerator) {
    return new ExecutionOptions(Optional.of(accelerator), range);
  }

  /** These options over a range. */
  public ExecutionOptions over(LaunchRange range) {
    return new ExecutionOptions(accelerator, Optional.of(range));
  }
}

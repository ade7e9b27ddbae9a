package dev.tidepool;

import java.util.concurrent.CompletableFuture;

/**
 * A kernel of one manager. Safe for use by any thread; it ends with its manager.
 *
 * <p>Only what it reads travels to the device, and only what it writes becomes newer there. Buffers
 * of another manager of the same process are copied in and back.
 */
public interface Kernel {
  /** What it was compiled from. */
  KernelSource source();

  /**
   * Runs it over its arrays: an elementwise kernel over their common length, a hand-written one
   * over one item for each element of its longest array. Returns when done.
   *
   * @throws IllegalArgumentException if an argument is missing, unknown, or of the wrong kind,
   *     length or type
   * @throws IllegalStateException if a buffer is closed, or mapped in a way that forbids it
   * @throws KernelCompilationException if no code can be made for arguments of these types
   */
  void execute(Arguments arguments);

  /**
   * Runs a hand-written kernel over a range; returns when done.
   *
   * @throws IllegalArgumentException also if the kernel is elementwise, which has no range
   */
  void execute(Arguments arguments, LaunchRange range);

  /** {@link #execute(Arguments)} in the background; wrong arguments throw at once. */
  CompletableFuture<Void> executeAsync(Arguments arguments);

  /** {@link #execute(Arguments, LaunchRange)} in the background; wrong arguments throw at once. */
  CompletableFuture<Void> executeAsync(Arguments arguments, LaunchRange range);
}

package dev.tidepool.runtime.order;

import dev.tidepool.runtime.threads.Resumable;
import org.jspecify.annotations.Nullable;

/** An operation as its {@link DeviceLaunch}, and the queue of that, know it. */
abstract class LaunchedOperation extends Resumable implements Runnable {
  /** Hands the operation in, as a task of its own; at once or a little later. */
  public abstract void handIn();

  /** There is no place for the launch: another thread runs the operation when there is. */
  abstract void giveTurnUp();

  /**
   * Returns the queue of a launch ahead, if there is one under way; on the thread that runs this.
   */
  abstract @Nullable LaunchQueue queueAhead();

  /** Returns the launches ahead that may be under way; on the thread that runs this, once. */
  abstract DeviceLaunch.@Nullable Ahead launchesAhead();

  /**
   * The command has ended on the device.
   *
   * @param thrown what it failed with. If the body failed when the command was under way, that
   *     counts
   * @return whether the operation has ended, and its listener is to be told
   */
  abstract boolean deviceEnded(@Nullable Throwable thrown);

  /** Tells the listener of an operation that has ended; at once or a little later. */
  abstract void tellOfEnd();
}

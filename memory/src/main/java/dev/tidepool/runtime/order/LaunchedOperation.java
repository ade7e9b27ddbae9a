package dev.tidepool.runtime.order;

import dev.tidepool.runtime.threads.Resumable;
import org.jspecify.annotations.Nullable;

/** The part of an operation that its {@link DeviceLaunch} and {@link LaunchQueue} call. */
abstract class LaunchedOperation extends Resumable implements Runnable {
  /** Hands the operation to its executor as a task, at once or a little later. */
  public abstract void handIn();

  /** Gives the turn up, because no place is free. Another thread runs the operation when one is. */
  abstract void giveTurnUp();

  /** Returns the queue of a launch ahead that is under way, if any. Called by the runner. */
  abstract @Nullable LaunchQueue queueAhead();

  /** Returns the launches ahead that may be under way. Called once, by the runner. */
  abstract DeviceLaunch.@Nullable Ahead launchesAhead();

  /**
   * Handles the end of the command on the device.
   *
   * @param thrown the failure of the command. If the body failed while the command was under way,
   *     the failure of the body counts instead
   * @return whether the operation has ended; the caller then calls {@link #tellOfEnd}
   */
  abstract boolean deviceEnded(@Nullable Throwable thrown);

  /** Calls the listener of an operation that has ended, at once or a little later. */
  abstract void tellOfEnd();
}

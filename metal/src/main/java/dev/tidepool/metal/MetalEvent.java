package dev.tidepool.metal;

import dev.tidepool.spi.Event;
import dev.tidepool.spi.Shutdown;
import dev.tidepool.spi.support.Closing;
import dev.tidepool.spi.support.UseCount;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The end of a command buffer.
 *
 * <p>Counts its users, so that a close while another thread waits releases the command buffer after
 * that wait. Some commands have a last step on the host, a copy out of a staging buffer. The first
 * thread that notices the end performs this step, and the event is done after it.
 */
final class MetalEvent implements Event {
  /**
   * The host's part of a command.
   *
   * @param afterwards runs when the command has ended successfully
   * @param release runs when the event is closed
   */
  record LastStep(Runnable afterwards, Runnable release) {}

  private final String command;
  private final long buffer;
  private final Timeline timeline;
  private final long number;
  private final @Nullable LastStep lastStep;
  private final UseCount users = new UseCount("an event");
  private final AtomicBoolean closed = new AtomicBoolean();
  // Both are guarded by this event.
  private boolean settled;
  private @Nullable Supplier<RuntimeException> failure;

  /**
   * Takes ownership of a committed command buffer.
   *
   * @param command what was encoded, for messages
   * @param timeline the timeline of its queue; in use until this event is released
   * @param number the number that the timeline reaches after it
   */
  MetalEvent(
      String command, long buffer, Timeline timeline, long number, @Nullable LastStep lastStep) {
    this.command = command;
    this.buffer = buffer;
    this.timeline = timeline;
    this.number = number;
    this.lastStep = lastStep;
    timeline.enter();
  }

  @Override
  public boolean isDone() {
    users.enter();
    try {
      if (Metal.status(buffer) < Metal.STATUS_COMPLETED) {
        return false;
      }
      settle();
      return true;
    } finally {
      leave();
    }
  }

  @Override
  public void await() {
    users.enter();
    try {
      Metal.waitUntilCompleted(buffer);
      settle();
      throwFailure();
    } finally {
      leave();
    }
  }

  /** Waits for the end, successful or not. */
  void awaitEnd() {
    users.enter();
    try {
      Metal.waitUntilCompleted(buffer);
      settle();
    } finally {
      leave();
    }
  }

  private synchronized void throwFailure() {
    if (failure != null) {
      throw failure.get();
    }
  }

  /**
   * Reads the outcome of the command, once. If an error interrupts this, such as an exhausted heap
   * or stack, the next caller repeats it.
   */
  private synchronized void settle() {
    if (settled) {
      return;
    }
    if (Metal.status(buffer) != Metal.STATUS_COMPLETED) {
      Foundation.Failure error = ObjectiveC.pooled(() -> Foundation.failure(Metal.error(buffer)));
      // Each waiter gets an exception of its own, with its own stack.
      failure = () -> CommandErrors.failure(command, error);
    } else if (lastStep != null) {
      try {
        lastStep.afterwards().run();
      } catch (RuntimeException vanished) {
        failure = () -> vanished;
      }
    }
    settled = true;
  }

  boolean isOf(Timeline other) {
    return timeline == other;
  }

  /**
   * Returns a wait for this command, for queues; null if the command has ended. The wait holds the
   * timeline until {@link Wait#close}. The watch signals the end if the command fails.
   */
  @Nullable Wait hold(FailureWatch watch) {
    users.enter();
    try {
      if (Metal.status(buffer) >= Metal.STATUS_COMPLETED) {
        settle();
        return null;
      }
      Watched watched = new Watched(this);
      users.enter();
      try {
        watch.add(watched);
      } catch (RuntimeException | Error refused) {
        leave();
        throw refused;
      }
      return new Wait(timeline, number);
    } finally {
      leave();
    }
  }

  /** The watch's use of a command. */
  private record Watched(MetalEvent event) implements FailureWatch.Command {
    @Override
    public void signalEnd() {
      Metal.waitUntilCompleted(event.buffer);
      event.timeline.reach(event.number);
    }

    @Override
    public void close() {
      event.leave();
    }
  }

  /** A command for which a queue waits, by the number that a timeline reaches. */
  static final class Wait {
    private final Timeline timeline;
    private final long number;

    private Wait(Timeline timeline, long number) {
      this.timeline = timeline;
      this.number = number;
      timeline.enter();
    }

    /** Makes commands that are encoded after this in a command buffer wait. */
    void encode(long commandBuffer) {
      Metal.encodeWaitForEvent(commandBuffer, timeline.event(), number);
    }

    boolean isOver() {
      return timeline.hasReached(number);
    }

    void close() {
      timeline.leave();
    }
  }

  @Override
  public void close() {
    if (closed.compareAndSet(false, true)) {
      leave();
    }
  }

  private void leave() {
    if (users.leave() && !Shutdown.hasBegun()) {
      if (lastStep != null) {
        Closing.surviving("release", lastStep.release()::run);
      }
      Closing.surviving(
          "release",
          () -> {
            NativeCall.release(ObjectKind.COMMAND_BUFFER, buffer);
            timeline.leave();
          });
    }
  }
}

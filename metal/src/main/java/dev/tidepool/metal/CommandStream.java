package dev.tidepool.metal;

import dev.tidepool.spi.Event;
import dev.tidepool.spi.Shutdown;
import dev.tidepool.spi.support.Closing;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A command queue of a device, Tidepool's or of other code, with a timeline that shows the progress
 * of its commands. Safe for use by any thread.
 *
 * <p>According to Apple, a wait for an event delays the rest of its command buffer. So each later
 * command waits again, until the event has the awaited value.
 */
final class CommandStream {
  private final MetalDevice device;
  private final long queue;
  private final Timeline timeline;
  // Guards the fields below. It is acquired before an autorelease pool begins: a virtual thread
  // that waits for a lock within a pool could continue on another carrier, but the pool belongs to
  // the first one.
  private final ReentrantLock lock = new ReentrantLock();
  private final List<MetalEvent.Wait> waits = new ArrayList<>();
  // The number of the last command: numbers are assigned in the order of the commits.
  private long last;
  private final AtomicBoolean closed = new AtomicBoolean();

  /** Creates a stream over a queue, which remains the caller's. */
  CommandStream(MetalDevice device, long queue) {
    this.device = device;
    this.queue = queue;
    this.timeline = new Timeline(device.handle());
  }

  long queue() {
    return queue;
  }

  /**
   * Submits commands.
   *
   * @param command its name, for messages
   */
  MetalEvent submit(String command, Consumer<Commands> encoding) {
    return submit(command, encoding, null);
  }

  /** Like {@link #submit(String, Consumer)}, with a last step on the host. */
  MetalEvent submit(
      String command, Consumer<Commands> encoding, MetalEvent.@Nullable LastStep lastStep) {
    requireOpen();
    return submitted(command, encoding, lastStep);
  }

  private MetalEvent submitted(
      String command, Consumer<Commands> encoding, MetalEvent.@Nullable LastStep lastStep) {
    lock.lock();
    try {
      return ObjectiveC.pooled(
          () -> {
            try (Commands commands = new Commands(device, queue)) {
              encodeWaits(commands);
              encoding.accept(commands);
              return commands.commit(command, timeline, ++last, lastStep);
            }
          });
    } finally {
      lock.unlock();
    }
  }

  private void encodeWaits(Commands commands) {
    if (waits.isEmpty()) {
      return;
    }
    for (Iterator<MetalEvent.Wait> each = waits.iterator(); each.hasNext(); ) {
      MetalEvent.Wait wait = each.next();
      if (wait.isOver()) {
        each.remove();
        wait.close();
      }
    }
    commands.waitFor(waits);
  }

  /**
   * Lets commands that are submitted from now on, by any code, begin only after a command of any
   * queue has ended.
   */
  void after(Event event) {
    requireOpen();
    MetalEvent.Wait wait = wait(event);
    if (wait == null) {
      return;
    }
    lock.lock();
    try {
      waits.add(wait);
    } catch (OutOfMemoryError full) {
      wait.close();
      throw full;
    } finally {
      lock.unlock();
    }
    submit("encodeWaitForEvent:value:", _ -> {}).close();
  }

  /**
   * Returns a wait for a command, which the caller closes; null if the command has ended, or is
   * ahead in this same queue.
   */
  MetalEvent.@Nullable Wait wait(Event event) {
    if (!(event instanceof MetalEvent awaited)) {
      throw new IllegalArgumentException(
          "an event of another backend cannot be awaited by a queue of " + device.name());
    }
    return awaited.isOf(timeline) ? null : awaited.hold(device.failureWatch());
  }

  MetalEvent mark() {
    return submit("commit", _ -> {});
  }

  /** Waits until all commands have ended. */
  void finish() {
    try (MetalEvent last = mark()) {
      last.awaitEnd();
    }
  }

  /** Closes the stream after its commands have ended. */
  void close() {
    if (!closed.compareAndSet(false, true) || Shutdown.hasBegun()) {
      return;
    }
    Closing.surviving(
        "waitUntilCompleted",
        () -> {
          try (MetalEvent end = submitted("commit", _ -> {}, null)) {
            end.awaitEnd();
          }
        });
    lock.lock();
    try {
      waits.forEach(MetalEvent.Wait::close);
      waits.clear();
    } finally {
      lock.unlock();
    }
    timeline.close();
  }

  private void requireOpen() {
    if (closed.get()) {
      throw new IllegalStateException("a queue of " + device.info().id() + " is used after close");
    }
  }
}

package dev.tidepool.cuda;

import dev.tidepool.spi.support.Closing;
import java.util.concurrent.ConcurrentLinkedQueue;

/**
 * The driver's events of one device, kept for reuse. The pool owns the events; the streams on which
 * they are recorded may be destroyed first. Safe for use by any thread; holds no lock. {@link
 * #take} and {@link #close} are called with the device's context current.
 */
final class EventPool {
  private final ConcurrentLinkedQueue<Long> idle = new ConcurrentLinkedQueue<>();

  long take() {
    Long event = idle.poll();
    return event != null ? event : Cuda.cuEventCreate();
  }

  /** Takes back an event on which no command is pending. */
  void giveBack(long event) {
    idle.add(event);
  }

  void close() {
    for (Long event = idle.poll(); event != null; event = idle.poll()) {
      long handle = event;
      Closing.surviving(() -> Cuda.cuEventDestroy(handle));
    }
  }
}

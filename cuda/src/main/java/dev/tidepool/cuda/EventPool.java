package dev.tidepool.cuda;

import dev.tidepool.spi.support.Closing;
import java.util.concurrent.ConcurrentLinkedQueue;

/**
 * The driver's events of one device, kept for reuse. The pool owns them, not the streams that they
 * are recorded on, which may end first. Safe for use by any thread; holds no lock. Its methods are
 * called with the device's context current.
 */
final class EventPool {
  private final ConcurrentLinkedQueue<Long> idle = new ConcurrentLinkedQueue<>();

  long take() {
    Long event = idle.poll();
    return event != null ? event : Cuda.cuEventCreate();
  }

  /** Takes an event back that nothing is pending on. */
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

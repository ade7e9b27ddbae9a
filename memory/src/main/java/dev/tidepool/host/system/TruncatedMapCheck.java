package dev.tidepool.host.system;

import java.lang.foreign.MemorySegment;

/**
 * Makes the virtual machine report at once that bytes of a mapped file vanished during an access.
 *
 * <p>The virtual machine throws an {@link InternalError} for such an access. Compiled code throws
 * it not at the access, but at its next safepoint check. That may be behind the handler that should
 * catch it, between two steps that belong together. A native call makes this check when it returns.
 */
public final class TruncatedMapCheck {
  private TruncatedMapCheck() {}

  /** Throws the error of an earlier access by the calling thread, if any. Costs nanoseconds. */
  public static void surface() {
    // Any native call that is never compiled into its caller; this one does nothing. It does not
    // yield, which would release a virtual thread's carrier while the error is pending.
    var _ = Thread.holdsLock(TruncatedMapCheck.class);
  }

  /**
   * Calls {@link #surface()} after an access to two segments, unless both are on the heap. Finding
   * out whether the memory is own would cost as much.
   */
  public static void surface(MemorySegment one, MemorySegment other) {
    if (one.isNative() || other.isNative()) {
      surface();
    }
  }
}

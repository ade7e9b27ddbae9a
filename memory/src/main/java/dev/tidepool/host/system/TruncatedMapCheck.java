package dev.tidepool.host.system;

import java.lang.foreign.MemorySegment;

/**
 * Makes the virtual machine say now that bytes of a mapped file vanished under an access.
 *
 * <p>It answers such an access with an {@link InternalError}, which compiled code raises not there
 * but where it next looks for safepoints: perhaps behind the handler that was meant to catch it,
 * between two steps that belong together. A native call looks for them on its way back.
 */
public final class TruncatedMapCheck {
  private TruncatedMapCheck() {}

  /**
   * Raises the error of an access that the calling thread made before, if there was one. Costs some
   * nanoseconds.
   */
  public static void surface() {
    // Any native call that is never compiled into its caller; this one does nothing. It does not
    // yield, which would give a virtual thread's carrier away with the error pending.
    var _ = Thread.holdsLock(TruncatedMapCheck.class);
  }

  /**
   * {@link #surface()} after an access to two segments, unless both are of the heap. To ask whose
   * memory they are would cost as much.
   */
  public static void surface(MemorySegment one, MemorySegment other) {
    if (one.isNative() || other.isNative()) {
      surface();
    }
  }
}

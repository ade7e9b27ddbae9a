package dev.tidepool.testkit;

import dev.tidepool.NativeAccess;
import dev.tidepool.NativeHandle;

/** A command that code outside of Tidepool submits over buffers that it was lent. */
@FunctionalInterface
public interface NativeFill {
  /**
   * Sets every word of a buffer.
   *
   * @param access whose queue the command goes to
   * @param handle of the buffer, for the device; it may have no bytes
   * @param word four equal bytes
   */
  void fill(NativeAccess access, NativeHandle handle, int word);
}

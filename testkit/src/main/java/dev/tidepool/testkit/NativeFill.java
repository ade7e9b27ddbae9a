package dev.tidepool.testkit;

import dev.tidepool.NativeAccess;
import dev.tidepool.NativeHandle;

/** A command that code outside of Tidepool submits for a lent buffer. */
@FunctionalInterface
public interface NativeFill {
  /**
   * Sets every word of a buffer.
   *
   * @param access provides the queue of the command
   * @param handle the device's handle of the buffer, which may have no bytes
   * @param word four equal bytes
   */
  void fill(NativeAccess access, NativeHandle handle, int word);
}

package dev.tidepool.spi;

import dev.tidepool.NativeHandle;

/**
 * Memory of a block for code outside of Tidepool.
 *
 * @param handle the handle that the code receives
 * @param release releases the handle; run once, when no more commands that use it are submitted.
 *     Submitted ones may still run
 */
public record NativeMemory(NativeHandle handle, Runnable release) {
  /** Returns memory whose handle needs no release. */
  public static NativeMemory of(NativeHandle handle) {
    return new NativeMemory(handle, () -> {});
  }
}

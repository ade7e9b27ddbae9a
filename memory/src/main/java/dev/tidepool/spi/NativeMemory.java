package dev.tidepool.spi;

import dev.tidepool.NativeHandle;

/**
 * Memory of a block as code outside of Tidepool finds it.
 *
 * @param handle what that code gets
 * @param release gives back what was made for the handle; run once, when no more commands are
 *     submitted that use it. They may be under way
 */
public record NativeMemory(NativeHandle handle, Runnable release) {
  /** A handle that nothing was made for. */
  public static NativeMemory of(NativeHandle handle) {
    return new NativeMemory(handle, () -> {});
  }
}

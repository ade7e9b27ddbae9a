package dev.tidepool.cuda;

import dev.tidepool.spi.support.Closing;
import java.util.function.Supplier;

/**
 * A context of a device: the primary one, which other users of CUDA in the process share, or one
 * that the program created and keeps.
 *
 * <p>The current context is a property of the operating system's thread. Calls therefore run
 * between a push and a pop on the same thread. Calls on every thread then reach the right device,
 * and other users of CUDA on that thread find their context unchanged. A virtual thread keeps its
 * carrier in between, because actions do not park: they consist of native calls and take no lock.
 */
final class Context {
  private final int device;
  private final long handle;
  private final boolean retained;

  private Context(int device, long handle, boolean retained) {
    this.device = device;
    this.handle = handle;
    this.retained = retained;
  }

  /** Retains the primary context of a device; {@link #release} releases it. */
  static Context retain(int device) {
    return new Context(device, Cuda.cuDevicePrimaryCtxRetain(device), true);
  }

  /**
   * Returns a context that its owner keeps for longer than this object is used.
   *
   * @throws dev.tidepool.AcceleratorException if the driver knows no such context
   */
  static Context adopt(long handle) {
    Context unchecked = new Context(Cuda.CU_DEVICE_CPU, handle, false);
    return new Context(unchecked.call(Cuda::cuCtxGetDevice), handle, false);
  }

  /** Returns the device's handle. */
  int device() {
    return device;
  }

  long handle() {
    return handle;
  }

  /** Returns whether this is its device's primary context; called with no context pushed. */
  boolean isPrimary() {
    if (retained) {
      return true;
    }
    Context primary = retain(device);
    Closing.surviving(primary::release);
    return primary.handle == handle;
  }

  <T> T call(Supplier<T> calls) {
    Cuda.cuCtxPushCurrent(handle);
    try {
      return calls.get();
    } finally {
      // The code may be the failure of an earlier command, which that command's event reports.
      var _ = Cuda.cuCtxPopCurrent();
    }
  }

  void run(Runnable calls) {
    Cuda.cuCtxPushCurrent(handle);
    try {
      calls.run();
    } finally {
      var _ = Cuda.cuCtxPopCurrent();
    }
  }

  void release() {
    if (retained) {
      Cuda.cuDevicePrimaryCtxRelease(device);
    }
  }
}

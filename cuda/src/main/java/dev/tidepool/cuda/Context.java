package dev.tidepool.cuda;

import dev.tidepool.spi.support.Closing;
import java.util.function.Supplier;

/**
 * A context of a device: the primary one, which the process's other users of CUDA share, or one
 * that the program has made and keeps.
 *
 * <p>Which context is current is a thing of the operating system's thread. Calls therefore happen
 * between a push and a pop on the same thread: on every thread the right device answers, and other
 * users of CUDA on that thread find it as it was. A virtual thread keeps its carrier in between,
 * because nothing there parks: actions hold native calls and take no lock.
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

  /** Holds the primary context of a device, which {@link #release} lets go. */
  static Context retain(int device) {
    return new Context(device, Cuda.cuDevicePrimaryCtxRetain(device), true);
  }

  /**
   * A context that its owner keeps for longer than this object is used.
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

  /** Returns whether it is its device's primary one; no context is pushed. */
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
      // Its code may be the failure of an earlier command, which that command's event reports.
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

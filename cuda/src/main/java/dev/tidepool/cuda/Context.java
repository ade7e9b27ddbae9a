package dev.tidepool.cuda;

import java.util.function.Supplier;

/**
 * The primary context of a device, which the process's other users of CUDA share.
 *
 * <p>Which context is current is a thing of the operating system's thread. Calls therefore happen
 * between a push and a pop on the same thread: whatever thread asks, the right device answers, and
 * whoever else uses CUDA on that thread finds it as it was. A virtual thread keeps its carrier in
 * between, for nothing there parks: actions hold native calls and take no lock.
 */
final class Context {
  private final int device;
  private final long handle;

  private Context(int device, long handle) {
    this.device = device;
    this.handle = handle;
  }

  /** Holds the context of a device, which {@link #release} lets go. */
  static Context retain(int device) {
    return new Context(device, Cuda.cuDevicePrimaryCtxRetain(device));
  }

  long handle() {
    return handle;
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
    Cuda.cuDevicePrimaryCtxRelease(device);
  }
}

package dev.tidepool.opencl;

import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * An OpenCL context, within which memory and events of all its devices can be used together.
 *
 * <p>Every open device holds it once; it is released with the last of them. Holding and letting go
 * happen under the monitor of the {@link Platform}.
 */
final class Context {
  private final long handle;
  private final AtomicInteger holders = new AtomicInteger(1);
  // The first program built loads the driver's compiler, which may replace signal handlers again.
  private final AtomicBoolean compilerLoaded = new AtomicBoolean();

  Context(long handle) {
    this.handle = handle;
  }

  long handle() {
    return handle;
  }

  Context held() {
    holders.incrementAndGet();
    return this;
  }

  /** Whether this was the last holder; the context is released then. */
  boolean letGo() {
    if (holders.decrementAndGet() > 0) {
      return false;
    }
    OpenCL.clReleaseContext(handle);
    return true;
  }

  /** {@link OpenCL#clBuildProgram}, with the signal handlers preserved the first time. */
  int build(long program, long device, String options) {
    if (compilerLoaded.compareAndSet(false, true)) {
      return SignalHandlers.preserving(() -> OpenCL.clBuildProgram(program, device, options));
    }
    return OpenCL.clBuildProgram(program, device, options);
  }
}

package dev.tidepool.opencl;

import dev.tidepool.spi.support.Uninterruptibly;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * An OpenCL context, in which memory and events of all its devices can be used together.
 *
 * <p>Every open device holds the context once; the last of them releases it. Devices hold it and
 * let it go under the monitor of the {@link Platform}.
 */
final class Context {
  private static final String POCL_COMPILES =
      "PoCL compiles each kernel when it is built and when it first runs, for about a second in"
          + " all, and keeps the result in ~/.cache/pocl; cpu:0 computes on the same processor"
          + " without that";

  /** LLVM, with which many drivers compile, relies on half of it. */
  private static final long COMPILER_STACK_BYTES = 16L << 20;

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

  /** Removes a holder, and releases the context if this was the last; returns whether it was. */
  boolean letGo() {
    if (holders.decrementAndGet() > 0) {
      return false;
    }
    OpenCL.clReleaseContext(handle);
    return true;
  }

  /**
   * Calls {@link OpenCL#clBuildProgram}; the first call preserves the signal handlers. The compiler
   * runs on a thread with a large stack: a source that nests deeply needs more than Java's threads
   * usually have, and would end the process.
   */
  int build(long program, DeviceProperties device, String options) {
    FutureTask<Integer> build =
        new FutureTask<>(() -> OpenCL.clBuildProgram(program, device.handle(), options));
    if (compilerLoaded.compareAndSet(false, true)) {
      if (device.pocl()) {
        System.getLogger(Context.class.getName()).log(System.Logger.Level.INFO, POCL_COMPILES);
      }
      return SignalHandlers.preserving(() -> onLargeStack(build));
    }
    return onLargeStack(build);
  }

  private static int onLargeStack(FutureTask<Integer> build) {
    Thread compiler = new Thread(null, build, "tidepool-opencl-compiler", COMPILER_STACK_BYTES);
    compiler.setDaemon(true);
    compiler.start();
    try {
      return Uninterruptibly.<Integer, ExecutionException>get(build::get);
    } catch (ExecutionException e) {
      if (e.getCause() instanceof RuntimeException refused) {
        throw refused;
      }
      throw e.getCause() instanceof Error error ? error : new AssertionError(e);
    }
  }
}

package dev.tidepool.spi.support;

import dev.tidepool.KernelSource;
import dev.tidepool.spi.Shutdown;

/** Calls functions of a driver that return an error code. */
public final class DriverCall {
  private DriverCall() {}

  /** A function that returns a code. */
  @FunctionalInterface
  public interface Code {
    /** Calls the function. */
    int invoke() throws Throwable;
  }

  /** Calls a function, and returns its code. */
  public static int invoke(String function, Code code) {
    try {
      return code.invoke();
    } catch (Throwable thrown) {
      throw unexpected(function, thrown);
    }
  }

  /**
   * Translates an exception of the method handle itself, such as for a closed segment, a missing
   * function, or a wrong type. Returns a runtime exception for the caller to throw; throws errors
   * directly.
   */
  public static RuntimeException unexpected(String function, Throwable thrown) {
    return switch (thrown) {
      case RuntimeException exception -> exception;
      case Error error -> throw error;
      default -> new IllegalStateException("the call of " + function + " failed", thrown);
    };
  }

  /**
   * Throws if the virtual machine is shutting down, because a driver that is torn down could crash.
   *
   * @param driver the name of the driver in the message
   */
  public static void requireRunning(String function, String driver) {
    if (Shutdown.hasBegun()) {
      throw new IllegalStateException(
          function + ": the virtual machine is shutting down, the " + driver + " is left alone");
    }
  }

  /**
   * Returns the exception for a kernel in a language that a device does not run.
   *
   * @param languages the languages that the device runs
   */
  public static UnsupportedOperationException wrongLanguage(
      String deviceId, String languages, KernelSource source) {
    String kernel =
        switch (source) {
          case KernelSource.Elementwise elementwise -> "elementwise kernel " + elementwise;
          case KernelSource.OpenCl opencl -> "OpenCL kernel " + opencl.entry();
          case KernelSource.Cuda cuda -> "CUDA kernel " + cuda.entry();
          case KernelSource.CudaImage cuda -> "CUDA kernel " + cuda.entry();
          case KernelSource.Metal metal -> "Metal kernel " + metal.entry();
          case KernelSource.Method method -> "Java method " + method.name();
          case KernelSource.Java java ->
              "Java kernel of " + java.parameters().size() + " parameters";
        };
    return new UnsupportedOperationException(
        deviceId + " runs " + languages + " kernels, not the " + kernel);
  }
}

package dev.tidepool.opencl;

import dev.tidepool.AcceleratorException;
import dev.tidepool.KernelCompilationException;
import dev.tidepool.spi.support.Closing;
import dev.tidepool.spi.support.CompilerLog;
import dev.tidepool.spi.support.GroupSizes;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.function.LongFunction;

/**
 * One entry of a program that the driver compiled for one device.
 *
 * <p>A kernel object holds its arguments from their setting to the launch, so two threads cannot
 * use one object at the same time. Each launch borrows an object; idle objects are kept.
 */
final class CompiledKernel implements AutoCloseable {
  private final OpenClDevice device;
  private final String entry;
  private final long program;
  private final int argumentCount;
  private final long maxGroup;
  private final ConcurrentLinkedDeque<Long> idle = new ConcurrentLinkedDeque<>();

  private CompiledKernel(
      OpenClDevice device, long program, String entry, int argumentCount, long maxGroup) {
    this.device = device;
    this.entry = entry;
    this.program = program;
    this.argumentCount = argumentCount;
    this.maxGroup = maxGroup;
  }

  /**
   * Compiles a source; may take seconds.
   *
   * @throws KernelCompilationException if the compiler refuses the source, with the compiler's log,
   *     or if the source has no such entry
   */
  static CompiledKernel compile(OpenClDevice device, String source, String entry, String options) {
    long program = OpenCL.clCreateProgramWithSource(device.context().handle(), source);
    try {
      build(device, program, entry, options);
      return of(device, program, entry);
    } catch (RuntimeException | Error failed) {
      Closing.surviving("clReleaseProgram", () -> OpenCL.clReleaseProgram(program));
      throw failed;
    }
  }

  private static CompiledKernel of(OpenClDevice device, long program, String entry) {
    long kernel = createKernel(program, entry);
    try {
      CompiledKernel compiled =
          new CompiledKernel(
              device,
              program,
              entry,
              OpenCL.clGetKernelNumArgs(kernel),
              OpenCL.clGetKernelWorkGroupSize(kernel, device.properties().handle()));
      compiled.idle.push(kernel);
      return compiled;
    } catch (RuntimeException | Error failed) {
      Closing.surviving("clReleaseKernel", () -> OpenCL.clReleaseKernel(kernel));
      throw failed;
    }
  }

  private static void build(OpenClDevice device, long program, String entry, String options) {
    long handle = device.properties().handle();
    int code = device.context().build(program, device.properties(), options);
    if (code == ErrorCodes.CL_SUCCESS) {
      return;
    }
    if (ErrorCodes.kindOf(code) != AcceleratorException.Kind.PERMANENT) {
      throw NativeCall.failure("clBuildProgram", code);
    }
    String log = CompilerLog.of(() -> OpenCL.clGetProgramBuildLog(program, handle));
    throw new KernelCompilationException(
        device.name()
            + " refused the source of kernel '"
            + entry
            + "' with "
            + ErrorCodes.nameOf(code)
            + CompilerLog.firstError(log),
        log);
  }

  private static long createKernel(long program, String entry) {
    try {
      return OpenCL.clCreateKernel(program, entry);
    } catch (AcceleratorException refused) {
      if (refused.code() != ErrorCodes.CL_INVALID_KERNEL_NAME) {
        throw refused;
      }
      throw new KernelCompilationException(
          "the source has no kernel function '"
              + entry
              + "'; give the name of one that is declared __kernel void",
          "");
    }
  }

  OpenClDevice device() {
    return device;
  }

  String entry() {
    return entry;
  }

  int argumentCount() {
    return argumentCount;
  }

  GroupSizes groups() {
    return new GroupSizes(entry, device.name(), maxGroup, device.properties().maxGroupSizes());
  }

  /** Returns the most work items that one group of this kernel may have on the device. */
  long maxGroup() {
    return maxGroup;
  }

  /** Calls a function with a kernel object that no other thread uses meanwhile. */
  <T> T borrowed(LongFunction<T> use) {
    if (device.properties().spoilsKernels()) {
      synchronized (this) {
        return withNew(use);
      }
    }
    Long known = idle.poll();
    long kernel = known != null ? known : createKernel(program, entry);
    try {
      return use.apply(kernel);
    } finally {
      idle.push(kernel);
    }
  }

  private <T> T withNew(LongFunction<T> use) {
    long kernel = createKernel(program, entry);
    try {
      return use.apply(kernel);
    } finally {
      Closing.surviving("clReleaseKernel", () -> OpenCL.clReleaseKernel(kernel));
    }
  }

  @Override
  public void close() {
    for (Long kernel = idle.poll(); kernel != null; kernel = idle.poll()) {
      long handle = kernel;
      Closing.surviving("clReleaseKernel", () -> OpenCL.clReleaseKernel(handle));
    }
    Closing.surviving("clReleaseProgram", () -> OpenCL.clReleaseProgram(program));
  }
}

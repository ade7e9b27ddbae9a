package dev.tidepool.runtime.kernel;

import dev.tidepool.Arguments;
import dev.tidepool.ExecutionOptions;
import dev.tidepool.KernelSource;
import dev.tidepool.RawFile;
import dev.tidepool.UnifiedMemoryManager;
import java.nio.file.Path;
import java.util.ServiceLoader;

/**
 * Runs kernels over files, and over arrays and buffers in chunks. A higher package implements this
 * interface, so it is found as a service.
 */
public interface FileKernels {
  /**
   * Runs a kernel; returns when it is done.
   *
   * @param memory of the accelerator that computes
   * @param options with the size of chunks and the memory limit
   * @throws IllegalArgumentException as kernels do
   * @throws dev.tidepool.TransferException if a file cannot be read or written
   */
  void execute(
      KernelSource source,
      Arguments arguments,
      UnifiedMemoryManager memory,
      ExecutionOptions options);

  static boolean areNeededBy(Arguments arguments) {
    for (Object value : arguments.values().values()) {
      if (isFile(value)) {
        return true;
      }
    }
    return false;
  }

  static boolean isFile(Object value) {
    return value instanceof Path || value instanceof RawFile<?>;
  }

  /** Returns the exception for a file that is passed to a kernel itself. */
  static IllegalArgumentException misplaced() {
    return new IllegalArgumentException(
        "an argument is a file; run the kernel by name with the orchestrator, or in a pipeline");
  }

  /**
   * Returns the implementation.
   *
   * @throws IllegalStateException if there is none, because the library was repackaged without its
   *     services
   */
  static FileKernels installed() {
    return ServiceLoader.load(FileKernels.class, FileKernels.class.getClassLoader())
        .findFirst()
        .orElseThrow(
            () ->
                new IllegalStateException(
                    "no "
                        + FileKernels.class.getName()
                        + " is registered: keep META-INF/services when repackaging"
                        + " tidepool-memory"));
  }
}

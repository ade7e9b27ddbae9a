package dev.tidepool.cuda;

import dev.tidepool.AcceleratorException;
import dev.tidepool.KernelCompilationException;
import dev.tidepool.spi.Shutdown;
import dev.tidepool.spi.support.Closing;
import dev.tidepool.spi.support.CompilerLog;
import dev.tidepool.spi.support.GroupSizes;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * One kernel function of code that the driver has loaded for one device.
 *
 * @param device the device on which it runs
 * @param entry its name
 * @param module the module that contains it
 * @param function its handle
 * @param maxThreads the most threads of one block on the device
 * @param ownSharedBytes the shared memory that its code declares
 */
record LoadedKernel(
    CudaDevice device, String entry, long module, long function, int maxThreads, int ownSharedBytes)
    implements AutoCloseable {

  /**
   * Loads code.
   *
   * @param image a cubin, a fat binary or PTX
   * @throws KernelCompilationException if the code is not for this device, or has no such entry
   */
  static LoadedKernel load(CudaDevice device, byte[] image, String entry) {
    return device.context().call(() -> loaded(device, image, entry));
  }

  private static LoadedKernel loaded(CudaDevice device, byte[] image, String entry) {
    Cuda.Loaded loaded = Cuda.cuModuleLoadDataEx(image);
    if (loaded.code() != ErrorCodes.CUDA_SUCCESS) {
      throw refused(device, entry, loaded);
    }
    try {
      long function = Cuda.cuModuleGetFunction(loaded.module(), entry);
      int threads = Cuda.cuFuncGetAttribute(function, Cuda.CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
      int shared = Cuda.cuFuncGetAttribute(function, Cuda.CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
      return new LoadedKernel(device, entry, loaded.module(), function, threads, shared);
    } catch (RuntimeException | Error failed) {
      Closing.surviving(() -> Cuda.cuModuleUnload(loaded.module()));
      if (failed instanceof AcceleratorException refused
          && refused.code() == ErrorCodes.CUDA_ERROR_NOT_FOUND) {
        throw new KernelCompilationException(
            "the code has no kernel function '"
                + entry
                + "'; declare it extern \"C\" __global__ void, or give the name that it has",
            loaded.log());
      }
      throw failed;
    }
  }

  GroupSizes groups() {
    return new GroupSizes(entry, device.name(), maxThreads, device.properties().maxBlock());
  }

  /** Returns the bytes of each parameter, in order; empty if the driver does not report them. */
  Optional<List<Long>> parameterSizes() {
    return Cuda.hasCuFuncGetParamInfo()
        ? device.context().call(this::knownSizes)
        : Optional.empty();
  }

  private Optional<List<Long>> knownSizes() {
    List<Long> sizes = new ArrayList<>();
    try {
      for (OptionalLong size = Cuda.cuFuncGetParamInfo(function, 0);
          size.isPresent();
          size = Cuda.cuFuncGetParamInfo(function, sizes.size())) {
        sizes.add(size.getAsLong());
      }
      return Optional.of(sizes);
    } catch (AcceleratorException notTold) {
      return Optional.empty();
    }
  }

  /**
   * Allows launches to use an amount of shared memory. The device's context is current.
   *
   * @throws IllegalArgumentException if the device lacks it
   */
  void allowShared(long bytes) {
    DeviceProperties properties = device.properties();
    int most = properties.maxSharedBytes() - ownSharedBytes;
    if (bytes > most) {
      throw new IllegalArgumentException(
          bytes
              + " bytes of local memory were asked for; "
              + device.name()
              + " has "
              + most
              + " for a group of kernel '"
              + entry
              + "'");
    }
    if (bytes > properties.sharedBytes() - ownSharedBytes) {
      // Always the maximum, so that launches of several threads do not undo each other's setting.
      Cuda.cuFuncSetAttribute(function, Cuda.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, most);
    }
  }

  private static RuntimeException refused(CudaDevice device, String entry, Cuda.Loaded loaded) {
    AcceleratorException failure = NativeCall.failure("cuModuleLoadDataEx", loaded.code());
    return ErrorCodes.isAboutCode(loaded.code())
        ? new KernelCompilationException(
            device.name()
                + " refused the code of kernel '"
                + entry
                + "': "
                + failure.getMessage()
                + (loaded.log().isBlank() ? "" : CompilerLog.firstError(loaded.log())),
            loaded.log())
        : failure;
  }

  @Override
  public void close() {
    if (!Shutdown.hasBegun()) {
      Closing.surviving(() -> device.context().run(() -> Cuda.cuModuleUnload(module)));
    }
  }
}

package dev.tidepool.interop;

import dev.tidepool.NativeKind;
import org.jspecify.annotations.Nullable;

/** The numbers of device types in DLPack and Arrow. */
final class DeviceTypes {
  static final int CPU = 1;
  static final int CUDA = 2;
  static final int CUDA_HOST = 3;
  static final int OPENCL = 4;
  static final int METAL = 8;
  static final int ROCM_HOST = 11;
  static final int CUDA_MANAGED = 13;

  private DeviceTypes() {}

  /** Returns the device type for a kind of memory. */
  static int of(NativeKind kind) {
    return switch (kind) {
      case HOST_POINTER -> CPU;
      case CUDA_POINTER -> CUDA;
      case OPENCL_BUFFER -> OPENCL;
      case METAL_BUFFER -> METAL;
      case OPENCL_SVM ->
          throw new UnsupportedOperationException(
              "DLPack and Arrow have no memory of kind " + kind);
    };
  }

  /** Returns the kind of memory of a device type; null if no accelerator can open it. */
  static @Nullable NativeKind kind(int type) {
    return switch (type) {
      // The host accesses page-locked memory like other memory.
      case CPU, CUDA_HOST, ROCM_HOST -> NativeKind.HOST_POINTER;
      case CUDA, CUDA_MANAGED -> NativeKind.CUDA_POINTER;
      case OPENCL -> NativeKind.OPENCL_BUFFER;
      case METAL -> NativeKind.METAL_BUFFER;
      default -> null;
    };
  }
}

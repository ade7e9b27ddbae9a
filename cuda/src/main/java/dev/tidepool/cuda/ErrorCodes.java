package dev.tidepool.cuda;

import dev.tidepool.AcceleratorException;

/** The return codes that the library acts on; their names are the driver's own. */
final class ErrorCodes {
  static final int CUDA_SUCCESS = 0;
  static final int CUDA_ERROR_INVALID_VALUE = 1;
  static final int CUDA_ERROR_OUT_OF_MEMORY = 2;
  static final int CUDA_ERROR_DEVICE_UNAVAILABLE = 46;
  static final int CUDA_ERROR_NO_DEVICE = 100;
  static final int CUDA_ERROR_INVALID_IMAGE = 200;
  static final int CUDA_ERROR_NO_BINARY_FOR_GPU = 209;
  static final int CUDA_ERROR_ECC_UNCORRECTABLE = 214;
  static final int CUDA_ERROR_INVALID_PTX = 218;
  static final int CUDA_ERROR_NVLINK_UNCORRECTABLE = 220;
  static final int CUDA_ERROR_JIT_COMPILER_NOT_FOUND = 221;
  static final int CUDA_ERROR_UNSUPPORTED_PTX_VERSION = 222;
  static final int CUDA_ERROR_CONTAINED = 226;
  static final int CUDA_ERROR_INVALID_SOURCE = 300;
  static final int CUDA_ERROR_OPERATING_SYSTEM = 304;
  static final int CUDA_ERROR_NOT_FOUND = 500;
  static final int CUDA_ERROR_NOT_READY = 600;
  static final int CUDA_ERROR_ILLEGAL_ADDRESS = 700;
  static final int CUDA_ERROR_LAUNCH_TIMEOUT = 702;
  static final int CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED = 704;
  static final int CUDA_ERROR_CONTEXT_IS_DESTROYED = 709;
  static final int CUDA_ERROR_ASSERT = 710;
  static final int CUDA_ERROR_HARDWARE_STACK_ERROR = 714;
  static final int CUDA_ERROR_ILLEGAL_INSTRUCTION = 715;
  static final int CUDA_ERROR_MISALIGNED_ADDRESS = 716;
  static final int CUDA_ERROR_INVALID_ADDRESS_SPACE = 717;
  static final int CUDA_ERROR_INVALID_PC = 718;
  static final int CUDA_ERROR_LAUNCH_FAILED = 719;
  static final int CUDA_ERROR_TENSOR_MEMORY_LEAK = 721;
  static final int CUDA_ERROR_NOT_SUPPORTED = 801;
  static final int CUDA_ERROR_SYSTEM_NOT_READY = 802;
  static final int CUDA_ERROR_SYSTEM_DRIVER_MISMATCH = 803;
  static final int CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE = 804;
  static final int CUDA_ERROR_MPS_CLIENT_TERMINATED = 810;
  static final int CUDA_ERROR_EXTERNAL_DEVICE = 911;
  static final int CUDA_ERROR_UNKNOWN = 999;

  private ErrorCodes() {}

  /** Returns the name in {@code cuda.h}. */
  static String nameOf(int code) {
    return Cuda.cuGetErrorName(code).orElse("an unknown error");
  }

  /**
   * Returns whether the same call may succeed later. An error that damages a context fails all
   * calls after it. Such errors are those for which the driver's documentation requires a new
   * process, those of the hardware, and those about destroyed contexts.
   */
  static AcceleratorException.Kind kindOf(int code) {
    return switch (code) {
      case CUDA_ERROR_OUT_OF_MEMORY -> AcceleratorException.Kind.TRANSIENT;
      case CUDA_ERROR_ECC_UNCORRECTABLE,
          CUDA_ERROR_NVLINK_UNCORRECTABLE,
          CUDA_ERROR_CONTAINED,
          CUDA_ERROR_ILLEGAL_ADDRESS,
          CUDA_ERROR_LAUNCH_TIMEOUT,
          CUDA_ERROR_CONTEXT_IS_DESTROYED,
          CUDA_ERROR_ASSERT,
          CUDA_ERROR_HARDWARE_STACK_ERROR,
          CUDA_ERROR_ILLEGAL_INSTRUCTION,
          CUDA_ERROR_MISALIGNED_ADDRESS,
          CUDA_ERROR_INVALID_ADDRESS_SPACE,
          CUDA_ERROR_INVALID_PC,
          CUDA_ERROR_LAUNCH_FAILED,
          CUDA_ERROR_TENSOR_MEMORY_LEAK,
          CUDA_ERROR_MPS_CLIENT_TERMINATED,
          CUDA_ERROR_EXTERNAL_DEVICE ->
          AcceleratorException.Kind.DEVICE_LOST;
      default -> AcceleratorException.Kind.PERMANENT;
    };
  }

  /** Returns whether code was refused because it is for another device or driver, or is broken. */
  static boolean isAboutCode(int code) {
    return switch (code) {
      case CUDA_ERROR_INVALID_IMAGE,
          CUDA_ERROR_NO_BINARY_FOR_GPU,
          CUDA_ERROR_INVALID_PTX,
          CUDA_ERROR_JIT_COMPILER_NOT_FOUND,
          CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
          CUDA_ERROR_INVALID_SOURCE,
          CUDA_ERROR_NOT_FOUND ->
          true;
      default -> false;
    };
  }

  /** Returns what happened, and what to do next. */
  static String adviceFor(int code) {
    return switch (code) {
      case CUDA_ERROR_OUT_OF_MEMORY ->
          "the memory is exhausted; close buffers, or work in smaller chunks";
      case CUDA_ERROR_DEVICE_UNAVAILABLE ->
          "the device is busy: another process has it for itself; end that process, or ask the"
              + " administrator for compute mode DEFAULT (nvidia-smi -c DEFAULT)";
      case CUDA_ERROR_NO_DEVICE -> "the driver found no device that it can use";
      case CUDA_ERROR_OPERATING_SYSTEM ->
          "the operating system refused; check that /dev/nvidia* can be opened by this user";
      case CUDA_ERROR_ECC_UNCORRECTABLE ->
          "the device's memory is damaged; open a new Tidepool, or reset the device";
      case CUDA_ERROR_ILLEGAL_ADDRESS, CUDA_ERROR_LAUNCH_TIMEOUT, CUDA_ERROR_LAUNCH_FAILED ->
          "a kernel went wrong and the device is lost to this process; check hand-written kernels"
              + " (compute-sanitizer shows the line), then restart the process";
      case CUDA_ERROR_UNSUPPORTED_PTX_VERSION ->
          "the code was made for a newer driver; update the driver, or use an older NVRTC";
      case CUDA_ERROR_NO_BINARY_FOR_GPU ->
          "the code was made for another kind of GPU; compile it for this one, or give PTX";
      case CUDA_ERROR_JIT_COMPILER_NOT_FOUND ->
          "the driver lacks its compiler for PTX, libnvidia-ptxjitcompiler; install all of it";
      case CUDA_ERROR_NOT_FOUND -> "there is no such thing";
      case CUDA_ERROR_SYSTEM_NOT_READY ->
          "the system is not ready: is nvidia-fabricmanager or nvidia-persistenced running?";
      case CUDA_ERROR_SYSTEM_DRIVER_MISMATCH ->
          "the driver library and the kernel's driver are of different versions; reboot";
      case CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE ->
          "the driver is older than the compatibility library allows; update the driver";
      default -> Cuda.cuGetErrorString(code).orElse("the driver says no more");
    };
  }
}

package dev.tidepool.opencl;

import static dev.tidepool.opencl.NativeCall.number;
import static dev.tidepool.opencl.NativeCall.text;

import dev.tidepool.AcceleratorException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.LongBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The properties that a device reports, read once. Sizes are in bytes.
 *
 * @param handle the {@code cl_device_id}; root devices are never released
 * @param version major * 10 + minor of the OpenCL version
 * @param type the bits of {@code CL_DEVICE_TYPE}
 * @param globalMemory the device's whole memory; OpenCL does not report how much of it is free
 * @param maxAllocation the largest size of one buffer
 * @param baseAlignment the offset of a sub-buffer must be a multiple of this
 * @param hostUnified whether host and device use the same physical memory
 * @param svmCapabilities the bits of {@code CL_DEVICE_SVM_CAPABILITIES}, 0 before OpenCL 2.0
 * @param fp64 whether it computes in 64-bit floating point
 * @param subnormals whether it computes with subnormal floats
 * @param correctlyRoundedDivideSqrt whether it can round the quotients and roots of floats
 *     correctly
 * @param longAtomics whether it has atomic operations of 64 bits
 * @param localMemory the memory that one group may share
 * @param maxGroup the most work items in a group
 * @param maxGroupSizes the most work items in each dimension of a group
 * @param maker the maker of the driver
 */
record DeviceProperties(
    long handle,
    String name,
    String driver,
    int version,
    long type,
    long globalMemory,
    long maxAllocation,
    long baseAlignment,
    boolean hostUnified,
    long svmCapabilities,
    boolean fp64,
    boolean subnormals,
    boolean correctlyRoundedDivideSqrt,
    boolean longAtomics,
    long localMemory,
    long maxGroup,
    List<Long> maxGroupSizes,
    Maker maker) {

  /** Makers of drivers that need something special. */
  enum Maker {
    POCL,
    NVIDIA,
    OTHER;

    /** Returns the maker named in the version, which ends with the basis of the driver. */
    static Maker of(String version) {
      String text = version.toLowerCase(Locale.ROOT);
      return text.contains("pocl") ? POCL : text.contains("cuda") ? NVIDIA : OTHER;
    }
  }

  private static final int CL_DEVICE_TYPE = 0x1000;
  private static final int CL_DEVICE_MAX_WORK_GROUP_SIZE = 0x1004;
  private static final int CL_DEVICE_MAX_WORK_ITEM_SIZES = 0x1005;
  private static final int CL_DEVICE_ADDRESS_BITS = 0x100D;
  private static final int CL_DEVICE_MAX_MEM_ALLOC_SIZE = 0x1010;
  private static final int CL_DEVICE_MEM_BASE_ADDR_ALIGN = 0x1019;
  private static final int CL_DEVICE_SINGLE_FP_CONFIG = 0x101B;
  private static final int CL_DEVICE_GLOBAL_MEM_SIZE = 0x101F;
  private static final int CL_DEVICE_LOCAL_MEM_SIZE = 0x1023;
  private static final int CL_DEVICE_ENDIAN_LITTLE = 0x1026;
  private static final int CL_DEVICE_AVAILABLE = 0x1027;
  private static final int CL_DEVICE_COMPILER_AVAILABLE = 0x1028;
  private static final int CL_DEVICE_NAME = 0x102B;
  private static final int CL_DEVICE_EXTENSIONS = 0x1030;
  private static final int CL_DRIVER_VERSION = 0x102D;
  private static final int CL_DEVICE_VERSION = 0x102F;
  private static final int CL_DEVICE_DOUBLE_FP_CONFIG = 0x1032;
  private static final int CL_DEVICE_HOST_UNIFIED_MEMORY = 0x1035;
  private static final int CL_DEVICE_SVM_CAPABILITIES = 0x1053;

  private static final long CL_FP_DENORM = 1;
  private static final long CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT = 1 << 7;
  private static final long CL_DEVICE_SVM_COARSE_GRAIN_BUFFER = 1;
  private static final long CL_DEVICE_SVM_FINE_GRAIN_BUFFER = 1 << 1;

  private static final Pattern VERSION = Pattern.compile("OpenCL (\\d+)\\.(\\d+)");

  static DeviceProperties of(long device) {
    int version = version(string(device, CL_DEVICE_VERSION));
    return new DeviceProperties(
        device,
        string(device, CL_DEVICE_NAME),
        string(device, CL_DRIVER_VERSION),
        version,
        value(device, CL_DEVICE_TYPE),
        value(device, CL_DEVICE_GLOBAL_MEM_SIZE),
        value(device, CL_DEVICE_MAX_MEM_ALLOC_SIZE),
        Math.max(1, value(device, CL_DEVICE_MEM_BASE_ADDR_ALIGN) / Byte.SIZE),
        valueOrZero(device, CL_DEVICE_HOST_UNIFIED_MEMORY) != 0,
        version >= 20 ? valueOrZero(device, CL_DEVICE_SVM_CAPABILITIES) : 0,
        valueOrZero(device, CL_DEVICE_DOUBLE_FP_CONFIG) != 0,
        (value(device, CL_DEVICE_SINGLE_FP_CONFIG) & CL_FP_DENORM) != 0,
        (value(device, CL_DEVICE_SINGLE_FP_CONFIG) & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT) != 0,
        extensions(device)
            .containsAll(List.of("cl_khr_int64_base_atomics", "cl_khr_int64_extended_atomics")),
        value(device, CL_DEVICE_LOCAL_MEM_SIZE),
        value(device, CL_DEVICE_MAX_WORK_GROUP_SIZE),
        sizes(OpenCL.clGetDeviceInfo(device, CL_DEVICE_MAX_WORK_ITEM_SIZES)),
        Maker.of(string(device, CL_DEVICE_VERSION)));
  }

  /** Returns why a device cannot be used at all; empty if it can. */
  static Optional<String> unusable(long device) {
    if (value(device, CL_DEVICE_AVAILABLE) == 0) {
      return Optional.of("its driver says that it is not available");
    }
    if (value(device, CL_DEVICE_COMPILER_AVAILABLE) == 0) {
      return Optional.of("its driver has no compiler for OpenCL C");
    }
    if (value(device, CL_DEVICE_ENDIAN_LITTLE) == 0) {
      return Optional.of("it is big-endian");
    }
    if (value(device, CL_DEVICE_ADDRESS_BITS) != 64) {
      return Optional.of("its addresses have " + value(device, CL_DEVICE_ADDRESS_BITS) + " bits");
    }
    String version = string(device, CL_DEVICE_VERSION);
    return version(version) < 12
        ? Optional.of("it offers \"" + version + "\", and 1.2 is the least that works")
        : Optional.empty();
  }

  private static List<String> extensions(long device) {
    return List.of(string(device, CL_DEVICE_EXTENSIONS).split(" +"));
  }

  static String nameOf(long device) {
    return string(device, CL_DEVICE_NAME);
  }

  boolean isGpu() {
    return (type & OpenCL.CL_DEVICE_TYPE_GPU) != 0;
  }

  boolean isCpu() {
    return (type & OpenCL.CL_DEVICE_TYPE_CPU) != 0;
  }

  boolean pocl() {
    return maker == Maker.POCL;
  }

  /** Returns whether two of its kernels that run at once may end the process. */
  boolean runsKernelsAlone() {
    return pocl() && isCpu();
  }

  /**
   * Returns whether the driver is used only on request. NVIDIA's (580.159.04) ended the process
   * under the conformance suite, whose threads launch kernels concurrently, in spite of the
   * measures by {@link #spoilsKernels} and {@link #keepsContext}.
   */
  boolean isUnsafe() {
    return maker == Maker.NVIDIA;
  }

  /**
   * Returns whether each launch needs a new kernel object, one at a time for a program. NVIDIA's
   * driver (580.159.04) ended the process when several threads set arguments of kernel objects of
   * their own. It refused launches of objects that had been given both buffers and SVM pointers.
   */
  boolean spoilsKernels() {
    return maker == Maker.NVIDIA;
  }

  /**
   * Returns whether a context should not be released. NVIDIA's driver (580.159.04) does not return
   * from {@code clReleaseContext} if several threads have used the context.
   */
  boolean keepsContext() {
    return maker == Maker.NVIDIA;
  }

  /**
   * Returns whether two of its commands that run at once may deadlock. PoCL's driver {@code basic},
   * which versions from 4.0 on call {@code cpu-minimal}, has no threads: it runs a command in the
   * thread that makes the command ready. If several threads do so, it takes the locks of the device
   * and of an event in both orders. The driver {@code pthread} ({@code cpu}) has threads of its own
   * and is not affected.
   */
  boolean runsCommandsAlone() {
    return runsKernelsAlone() && (name.startsWith("basic") || name.startsWith("cpu-minimal"));
  }

  boolean hasFineSvm() {
    return (svmCapabilities & CL_DEVICE_SVM_FINE_GRAIN_BUFFER) != 0;
  }

  boolean hasCoarseSvm() {
    return (svmCapabilities & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER) != 0;
  }

  String versionName() {
    return version / 10 + "." + version % 10;
  }

  private static int version(String text) {
    Matcher matcher = VERSION.matcher(text);
    return matcher.find()
        ? Integer.parseInt(matcher.group(1)) * 10 + Integer.parseInt(matcher.group(2))
        : 0;
  }

  private static String string(long device, int parameter) {
    return text(OpenCL.clGetDeviceInfo(device, parameter));
  }

  private static long value(long device, int parameter) {
    return number(OpenCL.clGetDeviceInfo(device, parameter));
  }

  /** Returns a value; 0 if the driver does not know it or has dropped it as deprecated. */
  private static long valueOrZero(long device, int parameter) {
    try {
      return value(device, parameter);
    } catch (AcceleratorException unknownParameter) {
      return 0;
    }
  }

  private static List<Long> sizes(byte[] value) {
    LongBuffer sizes = ByteBuffer.wrap(value).order(ByteOrder.nativeOrder()).asLongBuffer();
    long[] array = new long[sizes.remaining()];
    sizes.get(array);
    return Arrays.stream(array).boxed().toList();
  }
}

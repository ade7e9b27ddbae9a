package dev.tidepool.cuda;

import dev.tidepool.AcceleratorException;
import java.util.List;
import java.util.OptionalInt;
import java.util.stream.IntStream;

/**
 * The properties that the driver reports for a device.
 *
 * @param handle its {@code CUdevice}
 * @param name the vendor's name
 * @param major the major number of its compute capability
 * @param minor the minor number of its compute capability
 * @param totalMemory in bytes
 * @param managed whether it has managed memory
 * @param concurrentManaged whether the host may access managed memory while the device computes,
 *     and whether there may be more of it than the card has
 * @param memoryPools whether it has stream-ordered memory
 * @param virtualMemory whether memory can be mapped piece by piece
 * @param descriptors whether such memory can be passed to other processes as a file descriptor
 * @param uuid the id of the hardware, in hexadecimal
 * @param hostNode the nearest NUMA node of the host
 * @param maxBlockThreads the most threads of one block
 * @param maxBlock the most threads of one block in each dimension
 * @param maxGrid the most blocks of one launch in each dimension
 * @param sharedBytes the shared memory of one block that every kernel may use
 * @param maxSharedBytes the shared memory of one block that a kernel may use on request
 */
record DeviceProperties(
    int handle,
    String name,
    int major,
    int minor,
    long totalMemory,
    boolean managed,
    boolean concurrentManaged,
    boolean memoryPools,
    boolean virtualMemory,
    boolean descriptors,
    String uuid,
    OptionalInt hostNode,
    int maxBlockThreads,
    List<Long> maxBlock,
    List<Long> maxGrid,
    int sharedBytes,
    int maxSharedBytes) {

  static DeviceProperties of(int handle) {
    return new DeviceProperties(
        handle,
        Cuda.cuDeviceGetName(handle),
        attribute(handle, Cuda.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
        attribute(handle, Cuda.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR),
        Cuda.cuDeviceTotalMem(handle),
        attribute(handle, Cuda.CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY) != 0,
        attribute(handle, Cuda.CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS) != 0,
        attribute(handle, Cuda.CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED) != 0,
        attribute(handle, Cuda.CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED) != 0,
        attribute(handle, Cuda.CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED)
            != 0,
        Cuda.cuDeviceGetUuid(handle),
        hostNode(handle),
        attribute(handle, Cuda.CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK),
        threeFrom(handle, Cuda.CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X),
        threeFrom(handle, Cuda.CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X),
        attribute(handle, Cuda.CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK),
        // Devices before Volta do not report it: they have no more.
        Math.max(
            attribute(handle, Cuda.CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK),
            attribute(handle, Cuda.CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)));
  }

  /**
   * Returns the NUMA node. Drivers before CUDA 12.2 do not know the attribute, and systems without
   * nodes answer -1. A device without an answer has none.
   */
  private static OptionalInt hostNode(int handle) {
    try {
      int node = attribute(handle, Cuda.CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID);
      return node < 0 ? OptionalInt.empty() : OptionalInt.of(node);
    } catch (AcceleratorException notTold) {
      return OptionalInt.empty();
    }
  }

  private static int attribute(int handle, int attribute) {
    return Cuda.cuDeviceGetAttribute(handle, attribute);
  }

  /** Returns an attribute of three dimensions, which have successive numbers. */
  private static List<Long> threeFrom(int handle, int first) {
    return IntStream.range(first, first + 3).mapToObj(i -> (long) attribute(handle, i)).toList();
  }

  /** Returns the compute capability in the form of compilers: 90 for 9.0. */
  int architecture() {
    return 10 * major + minor;
  }
}

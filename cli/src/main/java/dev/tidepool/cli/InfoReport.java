package dev.tidepool.cli;

import dev.tidepool.Accelerator;
import dev.tidepool.Capability;
import dev.tidepool.MemoryInfo;
import dev.tidepool.Tidepool;
import dev.tidepool.host.HostPlatform;
import dev.tidepool.host.SharedFolder;
import dev.tidepool.transfer.PeerAccess;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * The output of {@code tidepool info}. The component names are the keys of its JSON.
 *
 * @param version the version of Tidepool
 * @param accelerators the accelerators in the library's order
 * @param best the id of the accelerator that is used if none is named
 * @param peers one entry for each ordered pair of accelerators
 * @param platform the features of the operating system
 * @param notes the missing features with their reasons
 */
record InfoReport(
    String version,
    List<Device> accelerators,
    String best,
    List<Peer> peers,
    Platform platform,
    List<String> notes) {

  /**
   * One accelerator.
   *
   * @param id the id that selects it
   * @param name the vendor's name
   * @param kind CPU, GPU or OTHER
   * @param driver the driver with its version
   * @param memory the present amount of memory
   * @param maximumAllocationBytes the largest size of a single buffer
   * @param capabilities the capabilities beyond the minimum, in words
   */
  record Device(
      String id,
      String name,
      String kind,
      String driver,
      MemoryInfo memory,
      long maximumAllocationBytes,
      List<String> capabilities) {
    static Device of(Accelerator accelerator) {
      return new Device(
          accelerator.id(),
          accelerator.name(),
          accelerator.kind().toString(),
          accelerator.driver(),
          accelerator.memory(),
          accelerator.maximumAllocation(),
          accelerator.capabilities().stream().sorted().map(Device::words).toList());
    }

    private static String words(Capability capability) {
      return switch (capability) {
        case OPENCL_KERNELS -> "OpenCL kernels";
        case METAL_KERNELS -> "Metal kernels";
        case CUDA_KERNELS -> "CUDA kernels";
        case JAVA_KERNELS -> "Java kernels";
        default -> capability.name().toLowerCase(Locale.ROOT).replace('_', ' ');
      };
    }
  }

  /**
   * The path of copies from one accelerator's memory to another's.
   *
   * @param from the accelerator that has the bytes
   * @param to the accelerator that receives the bytes
   * @param reachable whether there is a direct path
   * @param state whether copies use the direct path: a lower-case name of {@link PeerAccess.State}
   * @param copies the direct copies so far
   * @param bytes the bytes of the direct copies
   * @param bytesPerSecond the rate of the direct copies; 0 before the first
   * @param stagedCopies the copies through the host so far
   * @param stagedBytes the bytes of the copies through the host
   */
  record Peer(
      String from,
      String to,
      boolean reachable,
      String state,
      long copies,
      long bytes,
      double bytesPerSecond,
      long stagedCopies,
      long stagedBytes) {
    static Peer of(PeerAccess.Way way) {
      return new Peer(
          way.from().id(),
          way.to().id(),
          way.canReach(),
          way.state().name().toLowerCase(Locale.ROOT).replace('_', ' '),
          way.copies(),
          way.bytes(),
          way.bandwidth(),
          way.stagedCopies(),
          way.stagedBytes());
    }
  }

  /**
   * The operating system. Unknown values are null.
   *
   * @param system the name with its version
   * @param architecture the architecture of the processor
   * @param processor the model of the processor
   * @param processors the number of processors that this process may use
   * @param java the virtual machine
   * @param pageBytes the size of a page
   * @param transparentHugePageBytes the size of a transparent huge page; 0 if there are none
   * @param transparentHugePages always, madvise or never
   * @param explicitHugePages the available sizes, and the number of reserved pages of each
   * @param numaNodes the nodes whose memory this process may use
   * @param numaPolicies whether the process may choose the node of its memory
   * @param pageLocking whether memory can be pinned
   * @param lockLimitBytes the limit of pinned memory; null also if there is none
   * @param lockLimitSetting the setting by which an administrator raises the limit
   * @param addressMap whether the system reports the mappings of a process
   * @param nativeAllocation whether host memory comes from the system, not from Java's arenas
   * @param sharedMemory the place of memory shared by processes, and the users with access
   */
  record Platform(
      String system,
      String architecture,
      @Nullable String processor,
      int processors,
      String java,
      long pageBytes,
      long transparentHugePageBytes,
      @Nullable String transparentHugePages,
      List<HostPlatform.ExplicitHugePages> explicitHugePages,
      List<Integer> numaNodes,
      boolean numaPolicies,
      boolean pageLocking,
      @Nullable Long lockLimitBytes,
      @Nullable String lockLimitSetting,
      boolean addressMap,
      boolean nativeAllocation,
      String sharedMemory) {
    static Platform of(HostPlatform host) {
      boolean limited =
          host.lockLimitBytes().isPresent() && host.lockLimitBytes().getAsLong() != Long.MAX_VALUE;
      return new Platform(
          host.system(),
          host.architecture(),
          host.processor().orElse(null),
          host.processors(),
          Runtime.version() + " (" + System.getProperty("java.vendor") + ")",
          host.pageBytes(),
          host.hugePageBytes(),
          host.transparentHugePages().orElse(null),
          host.explicitHugePages(),
          host.numaNodes(),
          host.numaPolicies(),
          host.pageLocking(),
          limited ? (Long) host.lockLimitBytes().getAsLong() : null,
          host.lockLimitSetting().orElse(null),
          host.addressMap(),
          host.nativeAllocation(),
          SharedFolder.describe());
    }
  }

  static InfoReport of(Tidepool tidepool) {
    return new InfoReport(
        Version.ofTidepool(),
        tidepool.accelerators().stream().map(Device::of).toList(),
        tidepool.accelerator(Selection.AUTO).id(),
        tidepool.peers().matrix().stream().map(Peer::of).toList(),
        Platform.of(HostPlatform.probe()),
        tidepool.notes());
  }
}

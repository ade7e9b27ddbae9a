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
 * What {@code tidepool info} tells. The names of the components are the keys of its JSON.
 *
 * @param version of Tidepool
 * @param accelerators in the library's order
 * @param best the id of the one that is taken where none is named
 * @param peers from each accelerator to each other one
 * @param platform what the operating system offers
 * @param notes what is absent, and why
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
   * @param id the name to ask for it by
   * @param name the vendor's
   * @param kind CPU, GPU or OTHER
   * @param driver with its version
   * @param memory now
   * @param maximumAllocationBytes of a single buffer
   * @param capabilities beyond the minimum, in words
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
   * How bytes go from one accelerator's memory to another's.
   *
   * @param from where they are
   * @param to where they go
   * @param reachable whether there is a direct way
   * @param state whether copies take it: a name of {@link PeerAccess.State} in small letters
   * @param copies that took it so far
   * @param bytes that these moved
   * @param bytesPerSecond of these copies; 0 before the first
   * @param stagedCopies that went through the host instead
   * @param stagedBytes that those moved
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
   * The operating system. What it does not tell is null.
   *
   * @param system with its version
   * @param architecture of the processor
   * @param processor its model
   * @param processors usable by this process
   * @param java the virtual machine
   * @param pageBytes of a page
   * @param transparentHugePageBytes 0 where there are none
   * @param transparentHugePages always, madvise or never
   * @param explicitHugePages the sizes that there are, and how many are set aside
   * @param numaNodes whose memory this process may use
   * @param numaPolicies whether it may say from which of them
   * @param pageLocking whether memory can be pinned
   * @param lockLimitBytes how much of it; null also where no limit holds
   * @param lockLimitSetting what an administrator changes to raise that
   * @param addressMap whether the system tells what lies at the addresses of a process
   * @param nativeAllocation whether host memory comes from the system, not from Java's arenas
   * @param sharedMemory where processes share memory, and which users can reach it
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

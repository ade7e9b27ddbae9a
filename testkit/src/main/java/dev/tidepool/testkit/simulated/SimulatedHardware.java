package dev.tidepool.testkit.simulated;

import dev.tidepool.spi.HostAccess;
import dev.tidepool.spi.LaunchOrder;
import java.time.Duration;
import java.util.OptionalInt;
import java.util.function.Consumer;

/**
 * The properties of a simulated device. Immutable; each {@code with} method returns a copy.
 *
 * @param memoryBytes the size of its own memory, shared by DEVICE and UNIFIED blocks
 * @param maximumAllocation the size of its largest block
 * @param pinnedBytes the host memory that it can lock
 * @param hostAccess the host's access to DEVICE blocks: NONE for a discrete device, the others for
 *     one with {@code SHARED_MEMORY}
 * @param unified whether it has UNIFIED memory
 * @param peers whether its queues copy from other devices of its provider
 * @param latency the least time of each command; zero for the host's speed
 * @param bytesPerSecond the bandwidth of commands; 0 for the host's speed
 * @param scatters whether its queues scatter staged bytes in one command
 * @param link the speeds of transfers to, from and on the device, in addition to the above
 * @param numaNode the host's node to which it is attached
 * @param launchOrder whether launches may be submitted behind others
 * @param failures the effect of a launch that {@linkplain SimulatedDevice#failLaunch fails}
 * @param launchCost the time for which a launch occupies the submitting thread
 * @param jitter the greatest random additional time of a command
 * @param traced whether the violation of a command names the place that submitted it; this takes
 *     longer for deeper stacks
 */
public record SimulatedHardware(
    long memoryBytes,
    long maximumAllocation,
    long pinnedBytes,
    HostAccess hostAccess,
    boolean unified,
    boolean peers,
    Duration latency,
    long bytesPerSecond,
    boolean scatters,
    SimulatedLink link,
    OptionalInt numaNode,
    LaunchOrder launchOrder,
    FailureModel failures,
    Duration launchCost,
    Duration jitter,
    boolean traced) {

  /** Checks the numbers. */
  public SimulatedHardware {
    if (memoryBytes < 1 || maximumAllocation < 1 || pinnedBytes < 0 || bytesPerSecond < 0) {
      throw new IllegalArgumentException(
          "a device of %s bytes, blocks of at most %s, %s pinned, %s bytes a second: memory and blocks"
                  .formatted(memoryBytes, maximumAllocation, pinnedBytes, bytesPerSecond)
              + " need at least 1 byte, the others at least 0");
    }
    if (latency.isNegative() || launchCost.isNegative() || jitter.isNegative()) {
      throw new IllegalArgumentException(
          "latency is %s, launch cost %s, jitter %s; they must be zero or more"
              .formatted(latency, launchCost, jitter));
    }
  }

  /**
   * Returns a discrete device: 256 MiB, blocks of up to 128 MiB, unified memory, peers, no delays.
   */
  public static SimulatedHardware discrete() {
    return new SimulatedHardware(
        256L << 20,
        128L << 20,
        64L << 20,
        HostAccess.NONE,
        true,
        true,
        Duration.ZERO,
        0,
        true,
        SimulatedLink.INSTANT,
        OptionalInt.empty(),
        LaunchOrder.ACROSS_QUEUES,
        FailureModel.RUNS_ON,
        Duration.ZERO,
        Duration.ZERO,
        true);
  }

  /** Returns hardware with a size of memory in bytes, and blocks of at most half of it. */
  public SimulatedHardware withMemory(long bytes) {
    return with(
        parts -> {
          parts.memoryBytes = bytes;
          parts.maximumAllocation = Math.max(1, bytes / 2);
        });
  }

  /** Returns hardware with a maximum size of a block in bytes. */
  public SimulatedHardware withMaximumAllocation(long bytes) {
    return with(parts -> parts.maximumAllocation = bytes);
  }

  /** Returns hardware with a maximum of page-locked host memory in bytes. */
  public SimulatedHardware withPinned(long bytes) {
    return with(parts -> parts.pinnedBytes = bytes);
  }

  /** Returns hardware with a kind of host access to DEVICE blocks. */
  public SimulatedHardware withHostAccess(HostAccess access) {
    return with(parts -> parts.hostAccess = access);
  }

  /** Returns hardware without UNIFIED memory. */
  public SimulatedHardware withoutUnified() {
    return with(parts -> parts.unified = false);
  }

  /** Returns hardware without copies between devices. */
  public SimulatedHardware withoutPeers() {
    return with(parts -> parts.peers = false);
  }

  /** Returns hardware whose commands take at least a given time. */
  public SimulatedHardware withLatency(Duration perCommand) {
    return with(parts -> parts.latency = perCommand);
  }

  /** Returns hardware whose commands copy at most a number of bytes per second. */
  public SimulatedHardware withBandwidth(long perSecond) {
    return with(parts -> parts.bytesPerSecond = perSecond);
  }

  /** Returns hardware with a given order of launches. */
  public SimulatedHardware withLaunchOrder(LaunchOrder order) {
    return with(parts -> parts.launchOrder = order);
  }

  /** Returns hardware with a model of what happens to commands behind a failed one. */
  public SimulatedHardware withFailures(FailureModel model) {
    return with(parts -> parts.failures = model);
  }

  /**
   * Returns hardware whose launches occupy the submitting thread for a given time. The device then
   * polls for commands, as hardware does, and begins one up to 0.1 ms after its submission.
   */
  public SimulatedHardware withLaunchCost(Duration perLaunch) {
    return with(parts -> parts.launchCost = perLaunch);
  }

  /**
   * Returns hardware whose commands take a random time longer, up to a maximum, so that queues
   * overtake each other.
   */
  public SimulatedHardware withJitter(Duration most) {
    return with(parts -> parts.jitter = most);
  }

  /** Returns hardware whose reports of misused commands do not name the submitting place. */
  public SimulatedHardware withoutTraces() {
    return with(parts -> parts.traced = false);
  }

  /** Returns hardware with a link of given speeds. */
  public SimulatedHardware withLink(SimulatedLink speeds) {
    return with(parts -> parts.link = speeds);
  }

  /** Returns hardware that is attached to a NUMA node of the host. */
  public SimulatedHardware withNumaNode(int node) {
    return with(parts -> parts.numaNode = OptionalInt.of(node));
  }

  /** Returns hardware whose queues scatter by a write for each piece. */
  public SimulatedHardware withoutScatter() {
    return with(parts -> parts.scatters = false);
  }

  private SimulatedHardware with(Consumer<Parts> change) {
    Parts parts = new Parts(this);
    change.accept(parts);
    return parts.whole();
  }

  /** A mutable copy. */
  private static final class Parts {
    private long memoryBytes;
    private long maximumAllocation;
    private long pinnedBytes;
    private HostAccess hostAccess;
    private boolean unified;
    private boolean peers;
    private Duration latency;
    private long bytesPerSecond;
    private boolean scatters;
    private SimulatedLink link;
    private OptionalInt numaNode;
    private LaunchOrder launchOrder;
    private FailureModel failures;
    private Duration launchCost;
    private Duration jitter;
    private boolean traced;

    Parts(SimulatedHardware from) {
      memoryBytes = from.memoryBytes;
      maximumAllocation = from.maximumAllocation;
      pinnedBytes = from.pinnedBytes;
      hostAccess = from.hostAccess;
      unified = from.unified;
      peers = from.peers;
      latency = from.latency;
      bytesPerSecond = from.bytesPerSecond;
      scatters = from.scatters;
      link = from.link;
      numaNode = from.numaNode;
      launchOrder = from.launchOrder;
      failures = from.failures;
      launchCost = from.launchCost;
      jitter = from.jitter;
      traced = from.traced;
    }

    SimulatedHardware whole() {
      return new SimulatedHardware(
          memoryBytes,
          maximumAllocation,
          pinnedBytes,
          hostAccess,
          unified,
          peers,
          latency,
          bytesPerSecond,
          scatters,
          link,
          numaNode,
          launchOrder,
          failures,
          launchCost,
          jitter,
          traced);
    }
  }
}

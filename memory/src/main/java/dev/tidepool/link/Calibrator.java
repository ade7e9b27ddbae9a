package dev.tidepool.link;

import dev.tidepool.pool.block.Lease;
import dev.tidepool.spi.Block;
import dev.tidepool.spi.Device;
import dev.tidepool.spi.Piece;
import dev.tidepool.spi.Queue;
import dev.tidepool.transfer.TransferCalibration;
import dev.tidepool.transfer.TransferCalibration.Cost;
import dev.tidepool.transfer.TransferCalibration.Leg;
import java.lang.foreign.MemorySegment;
import java.time.Instant;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Measures the costs of a device's transfer paths, on a queue of its own and with memory that the
 * caller provides.
 *
 * <p>Each leg is measured a few times with a small size and then with larger ones, up to 4 MiB,
 * until one movement takes half a millisecond. The shortest time of each size counts, because other
 * activity on the machine only adds to it. A calibration takes about 50 milliseconds. Blocks a
 * platform thread; not thread-safe.
 */
public final class Calibrator {
  /** The bytes of device memory that a measurement needs. */
  public static final long SCRATCH_BYTES = 8 << 20;

  /** The bytes of a peer's memory that a measurement needs. */
  public static final long PEER_BYTES = 4 << 20;

  private static final long SMALL = 4 << 10;
  private static final long LARGE = PEER_BYTES;
  private static final long LONG_NANOS = 500_000;
  private static final int TRIES = 4;
  private static final int UNDER_WAY = 16;
  private static final long CHUNK = LARGE / UNDER_WAY;

  private final Device device;
  private final StagingAllocator staging;
  private final boolean thorough;

  /** Moves a number of bytes once and waits for the end. */
  interface Movement {
    void move(long bytes);
  }

  /**
   * Another device that this one copies from.
   *
   * @param name the name of its costs in the calibration
   * @param scratch {@link #PEER_BYTES} of its memory
   */
  public record Peer(String name, Block scratch) {}

  /**
   * Creates a calibrator.
   *
   * @param staging allocates staging blocks
   * @param thorough whether to measure scattering too; compiling the device's kernel for that may
   *     take a second
   */
  public Calibrator(Device device, StagingAllocator staging, boolean thorough) {
    this.device = device;
    this.staging = staging;
    this.thorough = thorough;
  }

  /**
   * Measures the costs.
   *
   * @param scratch {@link #SCRATCH_BYTES} of the device's memory
   * @param peers other devices that this one may copy from
   * @throws dev.tidepool.AcceleratorException if the driver refuses a command
   * @throws dev.tidepool.OutOfDeviceMemoryException if there is no room for staging blocks
   */
  public TransferCalibration measure(Block scratch, List<Peer> peers) {
    Map<Leg, Cost> legs = new EnumMap<>(Leg.class);
    Map<String, Cost> others = new HashMap<>();
    Range block = new Range(scratch.whole(), scratch.start());
    try (Queue queue = device.createUrgentQueue()) {
      Lease unlocked = staging.lease(LARGE, false);
      try {
        measure(legs, others, queue, block, filled(unlocked), peers);
      } finally {
        unlocked.release();
      }
    }
    return new TransferCalibration(Instant.now(), legs, others);
  }

  private void measure(
      Map<Leg, Cost> legs,
      Map<String, Cost> others,
      Queue queue,
      Range block,
      MemorySegment plain,
      List<Peer> peers) {
    Lease lease = staging.lease(LARGE, true);
    try {
      MemorySegment staged = filled(lease);
      host(legs, staged);
      hostToDevice(legs, queue, block, plain, false);
      if (device.isPinned(staged)) {
        hostToDevice(legs, queue, block, staged, true);
      }
      legs.put(
          Leg.LOCAL,
          cost(
              bytes ->
                  DeviceLink.finish(
                      queue.copy(block.block, block.at(0), block.block, block.at(LARGE), bytes))));
      legs.put(Leg.COMMAND, command(legs, queue, block, staged, SMALL));
      legs.put(Leg.CHUNK, command(legs, queue, block, staged, CHUNK));
      if (thorough && queue.scattersAtOnce()) {
        legs.put(Leg.SCATTER, cost(bytes -> scatter(queue, block, staged, bytes)));
      }
      for (Peer peer : peers) {
        others.put(peer.name(), peer(queue, block, peer.scratch()));
      }
    } finally {
      lease.release();
    }
  }

  /** A range of a block that the driver knows. */
  private record Range(Block block, long start) {
    long at(long offset) {
      return start + offset;
    }
  }

  private static MemorySegment filled(Lease lease) {
    return lease.segment().asSlice(0, LARGE).fill((byte) 1);
  }

  private static void host(Map<Leg, Cost> legs, MemorySegment staged) {
    HostRegion array = new HostRegion.Segment(MemorySegment.ofArray(new byte[(int) LARGE]), false);
    Cost copy =
        cost(
            bytes -> {
              MemorySegment part = staged.asSlice(0, bytes);
              array.stage(0, part);
              array.stage(0, part);
            });
    // Each movement makes two copies, because the clock is too coarse for one.
    legs.put(Leg.HOST_COPY, new Cost(0, copy.nanosPerByte() / 2));
  }

  private static void hostToDevice(
      Map<Leg, Cost> legs, Queue queue, Range block, MemorySegment host, boolean pinned) {
    legs.put(
        TransferPaths.link(pinned, true),
        cost(
            bytes ->
                DeviceLink.finish(queue.write(host.asSlice(0, bytes), block.block, block.at(0)))));
    legs.put(
        TransferPaths.link(pinned, false),
        cost(
            bytes ->
                DeviceLink.finish(queue.read(block.block, block.at(0), host.asSlice(0, bytes)))));
  }

  /**
   * Returns the cost of one more write while others are in progress, without the cost of its bytes.
   * The result is at least the cost of submitting it.
   */
  private Cost command(
      Map<Leg, Cost> legs, Queue queue, Range block, MemorySegment staged, long bytes) {
    Writes alone = new Writes(queue, block, staged, bytes);
    Writes all = new Writes(queue, block, staged, bytes);
    for (int i = 0; i < TRIES; i++) {
      alone.perform(1);
      all.perform(UNDER_WAY);
    }
    Cost link = legs.get(TransferPaths.link(device.isPinned(staged), true));
    double perByte = link == null ? 0 : link.nanosPerByte();
    double each = (double) (all.least - alone.least) / (UNDER_WAY - 1);
    double asking = (double) all.leastAsking / UNDER_WAY;
    return new Cost(Math.max(asking, each - bytes * perByte), perByte);
  }

  /** Several simultaneous writes, and the shortest time that they took. */
  private static final class Writes {
    private final Queue queue;
    private final Range block;
    private final MemorySegment staged;
    private final long bytes;
    long least = Long.MAX_VALUE;
    long leastAsking = Long.MAX_VALUE;

    Writes(Queue queue, Range block, MemorySegment staged, long bytes) {
      this.queue = queue;
      this.block = block;
      this.staged = staged;
      this.bytes = bytes;
    }

    void perform(int count) {
      long start = System.nanoTime();
      try (PendingCommands pending = new PendingCommands(count)) {
        for (int i = 0; i < count; i++) {
          pending.makeRoom();
          pending.add(
              queue.write(staged.asSlice(i * bytes, bytes), block.block, block.at(i * bytes)));
        }
        leastAsking = Math.min(leastAsking, System.nanoTime() - start);
        pending.finishAll();
      }
      least = Math.min(least, System.nanoTime() - start);
    }
  }

  private static void scatter(Queue queue, Range block, MemorySegment staged, long bytes) {
    List<Piece> pieces = new ArrayList<>();
    for (long at = 0; at < bytes; at += SMALL) {
      pieces.add(new Piece(at, block.block, block.at(2 * at), SMALL));
    }
    DeviceLink.finish(queue.scatter(staged.asSlice(0, bytes), pieces));
  }

  private static Cost peer(Queue queue, Range block, Block far) {
    return cost(
        bytes ->
            DeviceLink.finish(
                queue.copy(far.whole(), far.start(), block.block, block.at(0), bytes)));
  }

  /**
   * Returns the line through a small movement and the largest one that there was time for. If the
   * large one does not take twice as long, disturbances would decide the slope, and even its sign.
   * The cost per byte then includes the cost of the command.
   */
  static Cost cost(Movement movement) {
    movement.move(SMALL);
    long small = least(movement, SMALL);
    long bytes = SMALL;
    long large;
    do {
      bytes *= 4;
      large = least(movement, bytes);
    } while (bytes < LARGE && (large < LONG_NANOS || large < 2 * small));
    // All memory and code in use is warm now.
    small = Math.min(small, least(movement, SMALL));
    double perByte =
        large >= 2 * small ? (double) (large - small) / (bytes - SMALL) : (double) large / bytes;
    return new Cost(Math.max(0, small - SMALL * perByte), perByte);
  }

  private static long least(Movement movement, long bytes) {
    long least = Long.MAX_VALUE;
    for (int i = 0; i < TRIES; i++) {
      least = Math.min(least, nanos(movement, bytes));
    }
    return least;
  }

  private static long nanos(Movement movement, long bytes) {
    long start = System.nanoTime();
    movement.move(bytes);
    return System.nanoTime() - start;
  }
}

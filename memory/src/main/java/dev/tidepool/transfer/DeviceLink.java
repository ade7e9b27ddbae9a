package dev.tidepool.transfer;

import dev.tidepool.pool.Lease;
import dev.tidepool.spi.Block;
import dev.tidepool.spi.Device;
import dev.tidepool.spi.Event;
import dev.tidepool.spi.Queue;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongFunction;
import org.jspecify.annotations.Nullable;

/**
 * The queues of one device for one manager, and the ways over them.
 *
 * <p>Uploads, downloads, copies and kernels have queues of their own, so that they overlap; kernels
 * have several. All methods that move bytes block a platform thread until the bytes have arrived
 * and throw {@link dev.tidepool.AcceleratorException} when the driver refuses. Bytes that a driver
 * must not touch pass through two staging blocks in turn: while the device copies one, the host
 * fills or empties the other.
 */
public final class DeviceLink implements AutoCloseable {
  private static final int COMPUTE_QUEUES = 4;

  private final Device device;
  private final LongFunction<Lease> staging;
  private final long chunk;
  private final Queue upload;
  private final Queue download;
  private final Queue local;
  private final List<Queue> compute;
  private final AtomicInteger turn = new AtomicInteger();

  /**
   * Opens the queues.
   *
   * @param staging gives blocks of so many bytes at least, with a segment, page-locked where that
   *     can be had
   * @param chunk bytes of a staging block at most
   */
  public DeviceLink(Device device, LongFunction<Lease> staging, long chunk) {
    this.device = device;
    this.staging = staging;
    this.chunk = chunk;
    List<Queue> opened = new ArrayList<>();
    try {
      // Copies and fills are short and others wait for them; kernels may be long.
      for (int i = 0; i < 3 + COMPUTE_QUEUES; i++) {
        opened.add(i < 3 ? device.createUrgentQueue() : device.createQueue());
      }
    } catch (RuntimeException e) {
      opened.forEach(Queue::close);
      throw e;
    }
    upload = opened.get(0);
    download = opened.get(1);
    local = opened.get(2);
    compute = List.copyOf(opened.subList(3, opened.size()));
  }

  /** A queue for a kernel; queues take turns. */
  public Queue compute() {
    return compute.get(Math.floorMod(turn.getAndIncrement(), COMPUTE_QUEUES));
  }

  /** Moves bytes of the host to a block. Answers whether they went through staging. */
  public boolean upload(HostBytes source, Block destination, long offset) {
    if (source instanceof HostBytes.Segment(MemorySegment segment, boolean direct)
        && direct
        && !device.prefersStaging(segment)) {
      finish(upload.write(segment, destination.whole(), destination.start() + offset));
      return false;
    }
    staged(
        source,
        (staged, at) -> {
          source.copyTo(at, staged);
          return upload.write(staged, destination.whole(), destination.start() + offset + at);
        },
        (staged, at) -> {});
    return true;
  }

  /** Moves bytes of a block to the host. Answers whether they went through staging. */
  public boolean download(Block source, long offset, HostBytes destination) {
    if (destination instanceof HostBytes.Segment(MemorySegment segment, boolean direct)
        && direct
        && !device.prefersStaging(segment)) {
      finish(download.read(source.whole(), source.start() + offset, segment));
      return false;
    }
    staged(
        destination,
        (staged, at) -> download.read(source.whole(), source.start() + offset + at, staged),
        (staged, at) -> destination.copyFrom(staged, at));
    return true;
  }

  /** Copies between blocks that the device reaches; the ranges do not overlap. */
  public void copy(Block source, long sourceOffset, Block destination, long offset, long bytes) {
    finish(copyAhead(source, sourceOffset, destination, offset, bytes));
  }

  /** The same without waiting; the caller waits for the event and closes it. */
  public Event copyAhead(
      Block source, long sourceOffset, Block destination, long offset, long bytes) {
    return local.copy(
        source.whole(),
        source.start() + sourceOffset,
        destination.whole(),
        destination.start() + offset,
        bytes);
  }

  /** Sets bytes of a block. */
  public void fill(Block block, long offset, long bytes, byte value) {
    finish(local.fill(block.whole(), block.start() + offset, bytes, value));
  }

  /** Moves the pages of a shared block to where they will be used next. */
  public void prefetch(Block block, long offset, long bytes, boolean toDevice) {
    Event event = local.prefetch(block.whole(), block.start() + offset, bytes, toDevice);
    if (event != null) {
      finish(event);
    }
  }

  /** Lets the host use a mapped block. */
  public void acquire(Block block) {
    finish(local.acquire(block.whole()));
  }

  /** Gives a mapped block back to the device. */
  public void release(Block block) {
    finish(local.release(block.whole()));
  }

  private static void finish(Event event) {
    try (event) {
      event.await();
    }
  }

  private interface Submission {
    Event submit(MemorySegment staged, long at);
  }

  private interface Arrival {
    void arrived(MemorySegment staged, long at);
  }

  /** Walks over the bytes in chunks, two of them in flight. */
  private void staged(HostBytes bytes, Submission submission, Arrival arrival) {
    long size = bytes.byteSize();
    long step = Math.max(bytes.granule(), chunk - chunk % bytes.granule());
    int slots = size > step ? 2 : 1;
    List<Slot> ring = new ArrayList<>(slots);
    try {
      for (int i = 0; i < slots; i++) {
        ring.add(new Slot(staging.apply(Math.max(1, Math.min(step, size)))));
      }
      int next = 0;
      for (long at = 0; at < size; at += step) {
        ring.get(next).arrive(arrival);
        ring.get(next).submit(submission, at, Math.min(step, size - at));
        next = (next + 1) % slots;
      }
      for (int i = 0; i < slots; i++) {
        ring.get((next + i) % slots).arrive(arrival);
      }
    } finally {
      ring.forEach(Slot::close);
    }
  }

  /** One staging block and the command that uses it. */
  private static final class Slot {
    private final Lease lease;
    private final MemorySegment segment;
    private @Nullable Event event;
    private MemorySegment part;
    private long at;

    Slot(Lease lease) {
      this.lease = lease;
      this.segment = Objects.requireNonNull(lease.block().segment(), "staging has a segment");
      this.part = segment;
    }

    void submit(Submission submission, long offset, long bytes) {
      part = segment.asSlice(0, bytes);
      at = offset;
      event = submission.submit(part, offset);
    }

    void arrive(Arrival arrival) {
      Event pending = event;
      if (pending != null) {
        event = null;
        finish(pending);
        arrival.arrived(part, at);
      }
    }

    /** The block goes back only when no command uses it any more, whatever failed before. */
    void close() {
      Event pending = event;
      try {
        if (pending != null) {
          finish(pending);
        }
      } catch (RuntimeException e) {
        System.getLogger("dev.tidepool")
            .log(System.Logger.Level.DEBUG, "a transfer behind a failed one failed too", e);
      } finally {
        lease.release();
      }
    }
  }

  /** Ends the queues after what was submitted. */
  @Override
  public void close() {
    upload.close();
    download.close();
    local.close();
    compute.forEach(Queue::close);
  }
}

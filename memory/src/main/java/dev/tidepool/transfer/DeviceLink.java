package dev.tidepool.transfer;

import dev.tidepool.TransferPriority;
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
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.LongFunction;
import org.jspecify.annotations.Nullable;

/**
 * The queues of one device for one manager, and the ways over them.
 *
 * <p>Uploads, downloads, copies and kernels have queues of their own, so that they overlap; kernels
 * have several. All methods that move bytes block a platform thread until the bytes have arrived
 * and throw {@link dev.tidepool.AcceleratorException} when the driver refuses. Bytes that a driver
 * must not touch pass through two staging blocks in turn: while the device copies one, the host
 * fills or empties the other. What is longer than a chunk goes in chunks, two of them in flight,
 * and each waits at the {@link Gate} of its direction while somebody more urgent is on the way. How
 * a transfer wants to go is its {@link Passage}.
 */
public final class DeviceLink implements AutoCloseable {
  private static final int COMPUTE_QUEUES = 4;

  private final Device device;
  private final LongFunction<Lease> staging;
  private final LongFunction<Lease> plainStaging;
  private final long chunk;
  private final Queue upload;
  private final Queue download;
  private final Queue local;
  private final List<Queue> compute;
  private final AtomicInteger turn = new AtomicInteger();
  private final Gate uploads = new Gate();
  private final Gate downloads = new Gate();
  // Queues of what is critical, opened when something first is.
  private final AtomicReference<@Nullable Queue> criticalUpload = new AtomicReference<>();
  private final AtomicReference<@Nullable Queue> criticalDownload = new AtomicReference<>();

  /**
   * Opens the queues.
   *
   * @param staging gives blocks of so many bytes at least, with a segment, page-locked where that
   *     can be had
   * @param plainStaging the same, of plain memory
   * @param chunk bytes of a chunk, and so of a staging block, unless a transfer asks for others
   */
  public DeviceLink(
      Device device, LongFunction<Lease> staging, LongFunction<Lease> plainStaging, long chunk) {
    this.device = device;
    this.staging = staging;
    this.plainStaging = plainStaging;
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
    Passage passage = Passage.current();
    Queue queue = queueFor(passage, upload, criticalUpload);
    long start = destination.start() + offset;
    MemorySegment direct = direct(source, passage);
    if (direct != null) {
      inChunks(
          direct,
          uploads,
          passage,
          (part, at) -> queue.write(part, destination.whole(), start + at));
      return false;
    }
    staged(
        source,
        uploads,
        passage,
        (staged, at) -> {
          source.copyTo(at, staged);
          return queue.write(staged, destination.whole(), start + at);
        },
        (staged, at) -> {});
    return true;
  }

  /** What moves many small pieces to this device at once. */
  public Gathering gathering() {
    return new Gathering(queueFor(Passage.current(), upload, criticalUpload), uploads, staging);
  }

  /** Moves bytes of a block to the host. Answers whether they went through staging. */
  public boolean download(Block source, long offset, HostBytes destination) {
    Passage passage = Passage.current();
    Queue queue = queueFor(passage, download, criticalDownload);
    long start = source.start() + offset;
    MemorySegment direct = direct(destination, passage);
    if (direct != null) {
      inChunks(
          direct, downloads, passage, (part, at) -> queue.read(source.whole(), start + at, part));
      return false;
    }
    staged(
        destination,
        downloads,
        passage,
        (staged, at) -> queue.read(source.whole(), start + at, staged),
        (staged, at) -> destination.copyFrom(staged, at));
    return true;
  }

  /** The segment that the driver may use where it lies; null if the bytes must be staged. */
  private @Nullable MemorySegment direct(HostBytes bytes, Passage passage) {
    return bytes instanceof HostBytes.Segment(MemorySegment segment, boolean direct)
            && direct
            && passage.pinned()
            && !device.prefersStaging(segment)
        ? segment
        : null;
  }

  /** What is critical has a queue of its own, which nothing else is ahead in. */
  private Queue queueFor(
      Passage passage, Queue ordinary, AtomicReference<@Nullable Queue> critical) {
    if (passage.priority() != TransferPriority.CRITICAL) {
      return ordinary;
    }
    Queue open = critical.get();
    if (open != null) {
      return open;
    }
    Queue fresh = device.createUrgentQueue();
    if (critical.compareAndSet(null, fresh)) {
      return fresh;
    }
    fresh.close();
    return Objects.requireNonNull(critical.get());
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
    Event submit(MemorySegment part, long at);
  }

  private interface Arrival {
    void arrived(MemorySegment staged, long at);
  }

  /** Walks over bytes that the driver uses where they lie, two chunks in flight. */
  private void inChunks(MemorySegment bytes, Gate gate, Passage passage, Submission submission) {
    long size = bytes.byteSize();
    long step = passage.chunkOr(chunk);
    Event ahead = null;
    try (Gate.Turn turn = gate.enter(passage)) {
      for (long at = 0; at < size; at += step) {
        long count = Math.min(step, size - at);
        turn.chunk(count);
        Event next = submission.submit(bytes.asSlice(at, count), at);
        Event first = passage.pipelined() ? ahead : next;
        ahead = passage.pipelined() ? next : null;
        if (first != null) {
          finish(first);
        }
      }
      Event last = ahead;
      ahead = null;
      if (last != null) {
        finish(last);
      }
    } finally {
      if (ahead != null) {
        finishQuietly(ahead);
      }
    }
  }

  /** Walks over the bytes in chunks, two of them in flight. */
  private void staged(
      HostBytes bytes, Gate gate, Passage passage, Submission submission, Arrival arrival) {
    long size = bytes.byteSize();
    long wanted = passage.chunkOr(chunk);
    long step = Math.max(bytes.granule(), wanted - wanted % bytes.granule());
    int slots = size > step && passage.pipelined() ? 2 : 1;
    LongFunction<Lease> blocks = passage.pinned() ? staging : plainStaging;
    List<Slot> ring = new ArrayList<>(slots);
    try {
      for (int i = 0; i < slots; i++) {
        ring.add(new Slot(blocks.apply(Math.max(1, Math.min(step, size)))));
      }
      // Only now, for who makes room for a block may have to pass the gate.
      try (Gate.Turn turn = gate.enter(passage)) {
        int next = 0;
        for (long at = 0; at < size; at += step) {
          long count = Math.min(step, size - at);
          ring.get(next).arrive(arrival);
          turn.chunk(count);
          ring.get(next).submit(submission, at, count);
          next = (next + 1) % slots;
        }
        for (int i = 0; i < slots; i++) {
          ring.get((next + i) % slots).arrive(arrival);
        }
      }
    } finally {
      ring.forEach(Slot::close);
    }
  }

  /** Waits for the end of a command behind one that failed. */
  static void finishQuietly(Event event) {
    try {
      finish(event);
    } catch (RuntimeException e) {
      System.getLogger("dev.tidepool")
          .log(System.Logger.Level.DEBUG, "a transfer behind a failed one failed too", e);
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
          finishQuietly(pending);
        }
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
    closeIfOpen(criticalUpload.get());
    closeIfOpen(criticalDownload.get());
    local.close();
    compute.forEach(Queue::close);
  }

  private static void closeIfOpen(@Nullable Queue queue) {
    if (queue != null) {
      queue.close();
    }
  }
}

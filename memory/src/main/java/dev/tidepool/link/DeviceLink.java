package dev.tidepool.link;

import static dev.tidepool.transfer.TransferWay.MAPPED_FILE;
import static dev.tidepool.transfer.TransferWay.STAGED_PINNED;
import static dev.tidepool.transfer.TransferWay.STAGED_PLAIN;

import dev.tidepool.pool.block.Lease;
import dev.tidepool.spi.Block;
import dev.tidepool.spi.Device;
import dev.tidepool.spi.Event;
import dev.tidepool.spi.EventWait;
import dev.tidepool.spi.Queue;
import dev.tidepool.spi.support.Closing;
import dev.tidepool.spi.support.FailureLog;
import dev.tidepool.transfer.TransferCalibration;
import dev.tidepool.transfer.TransferPriority;
import dev.tidepool.transfer.TransferWay;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * The queues of one device for one manager, and the transfers on them.
 *
 * <p>Uploads, downloads, copies and kernels have queues of their own, so that they overlap; kernels
 * have several. All methods that move bytes block a platform thread until the bytes have arrived
 * and throw {@link dev.tidepool.AcceleratorException} if the driver refuses. Bytes that a driver
 * must not access pass through staging blocks ({@link Staging}). Longer transfers are moved in
 * chunks, several of them in progress. Each chunk waits at the {@link PriorityGate} of its
 * direction while a more urgent transfer is inside. The {@link TransferContext} has the options of
 * a transfer; {@link TransferPaths} chooses its path.
 */
public final class DeviceLink implements AutoCloseable {
  private static final int COMPUTE_QUEUES = 4;

  /** The bytes of a transfer that justify a calibration. */
  private static final long WORTHWHILE = 8 << 20;

  private final Device device;
  private final Staging staging;
  private final TransferPaths paths;
  private final Runnable calibrator;
  private final AtomicBoolean uncalibrated = new AtomicBoolean(true);
  // All open queues, in the order in which they were opened.
  private final List<Queue> queues = new CopyOnWriteArrayList<>();
  private final TransferQueue uploads;
  private final TransferQueue downloads;
  private final TransferQueue copies;
  private final List<Queue> compute;
  private final AtomicInteger launches = new AtomicInteger();

  /** The queue of transfers in one direction, and the gate that they pass. */
  final class TransferQueue {
    private final Queue ordinary;
    // Opened for the first critical transfer.
    private final AtomicReference<@Nullable Queue> critical = new AtomicReference<>();
    private final PriorityGate gate = new PriorityGate();

    /** Opens an urgent queue: copies and fills are short, and other operations wait for them. */
    TransferQueue() {
      ordinary = opened(device.createUrgentQueue());
    }

    PriorityGate gate() {
      return gate;
    }

    /** Returns the queue for a transfer. Critical ones have their own, with no other transfers. */
    Queue queueFor(TransferContext context) {
      if (context.priority() != TransferPriority.CRITICAL) {
        return ordinary;
      }
      Queue open = critical.get();
      if (open != null) {
        return open;
      }
      Queue fresh = opened(device.createUrgentQueue());
      if (critical.compareAndSet(null, fresh)) {
        return fresh;
      }
      queues.remove(fresh);
      fresh.close();
      return Objects.requireNonNull(critical.get());
    }
  }

  /**
   * Opens the queues.
   *
   * @param staging allocates staging blocks
   * @param helpers help with long transfers through staging
   * @param chunk the largest size of a staging block
   * @param calibrator runs once, before the first transfer that justifies a calibration
   */
  public DeviceLink(
      Device device,
      StagingAllocator staging,
      StagingThreads helpers,
      long chunk,
      Runnable calibrator) {
    this.device = device;
    this.staging = new Staging(device, staging, helpers, chunk);
    this.paths = new TransferPaths(chunk);
    this.calibrator = calibrator;
    try {
      uploads = new TransferQueue();
      downloads = new TransferQueue();
      copies = new TransferQueue();
      List<Queue> some = new ArrayList<>();
      for (int i = 0; i < COMPUTE_QUEUES; i++) {
        some.add(opened(device.createQueue()));
      }
      compute = List.copyOf(some);
    } catch (Throwable e) {
      close();
      throw e;
    }
  }

  private Queue opened(Queue queue) {
    try {
      queues.add(queue);
    } catch (OutOfMemoryError e) {
      queue.close();
      throw e;
    }
    return queue;
  }

  /** Returns all open queues. Queues that are opened later are added. */
  public Collection<Queue> queues() {
    return queues;
  }

  /** Returns a queue for a kernel. The queues are used in rotation. */
  public Queue compute() {
    return compute.get(Math.floorMod(launches.getAndIncrement(), COMPUTE_QUEUES));
  }

  public List<Queue> computeQueues() {
    return compute;
  }

  /** Returns the measured costs, or null before a calibration. */
  public @Nullable TransferCalibration calibration() {
    return paths.calibration();
  }

  /** Sets the measured costs, which choose the path and the chunks of later transfers. */
  public void calibrated(TransferCalibration calibration) {
    paths.calibrated(calibration);
  }

  private void calibrateFor(long bytes) {
    if (bytes >= WORTHWHILE && uncalibrated.get() && uncalibrated.compareAndSet(true, false)) {
      calibrator.run();
    }
  }

  /** Moves bytes of the host to a block. Returns the path that they took. */
  public TransferWay upload(HostRegion source, Block destination, long offset) {
    return move(HostCopy.UPLOAD, source, destination, offset);
  }

  /** Moves bytes of a block to the host. Returns the path that they took. */
  public TransferWay download(Block source, long offset, HostRegion destination) {
    return move(HostCopy.DOWNLOAD, destination, source, offset);
  }

  /** Moves bytes between the host and a block. Returns the path that they took. */
  TransferWay move(HostCopy copy, HostRegion host, Block block, long offset) {
    TransferContext context = TransferContext.current();
    TransferWay way = way(host, copy, context);
    Queue queue = queue(copy).queueFor(context);
    PriorityGate gate = queue(copy).gate();
    Block whole = block.whole();
    long start = block.start() + offset;
    if (!way.isStaged() && host instanceof HostRegion.Segment(MemorySegment segment, _)) {
      long step = context.chunkOr(paths.directChunk(way, isUp(copy)));
      if (segment.byteSize() <= step) {
        gate.passOneChunk(
            context, segment.byteSize(), () -> copy.moveNow(queue, segment, whole, start));
        return way;
      }
      inChunks(
          segment.byteSize(),
          step,
          gate,
          context,
          (at, count) -> copy.submit(queue, segment.asSlice(at, count), whole, start + at));
      return way;
    }
    if (staging.isOneBlock(host, context)) {
      return staging.inOneBlock(
          way,
          host.byteSize(),
          gate,
          context,
          staged -> {
            copy.fill(host, 0, staged);
            copy.moveNow(queue, staged, whole, start);
            copy.empty(host, 0, staged);
          });
    }
    return staging.move(
        way,
        host,
        paths.model(way, isUp(copy)),
        gate,
        context,
        new StagingRing.ChunkSteps() {
          @Override
          public void fill(MemorySegment staged, long at) {
            copy.fill(host, at, staged);
          }

          @Override
          public Event submit(MemorySegment staged, long at) {
            return copy.submit(queue, staged, whole, start + at);
          }

          @Override
          public void empty(MemorySegment staged, long at) {
            copy.empty(host, at, staged);
          }
        });
  }

  private static boolean isUp(HostCopy copy) {
    return copy == HostCopy.UPLOAD;
  }

  /** Returns a copy that moves many small pieces to or from this device together. */
  public CoalescedCopy coalesced() {
    return new CoalescedCopy(this);
  }

  /** Returns the queue of the transfers in a direction. */
  TransferQueue queue(HostCopy copy) {
    return isUp(copy) ? uploads : downloads;
  }

  private TransferWay way(HostRegion host, HostCopy copy, TransferContext context) {
    calibrateFor(host.byteSize());
    TransferWay way = paths.choose(TransferPaths.place(host, device), isUp(copy), host.byteSize());
    return context.pinned() || way == MAPPED_FILE ? way : STAGED_PLAIN;
  }

  /**
   * Returns the path to this device for bytes of another device's memory, or of this one's.
   *
   * @param reached whether this device may copy from the other's memory
   */
  public TransferWay across(DeviceLink source, boolean reached, long bytes) {
    MemoryKind place = reached ? MemoryKind.PEER : MemoryKind.UNREACHABLE;
    if (source.device.equals(device)) {
      place = MemoryKind.DEVICE;
    }
    return paths.across(place, source.paths.calibration(), source.name(), bytes);
  }

  /**
   * Copies to a block of this device from a block that it reaches. The ranges do not overlap.
   *
   * @param from the link of the source's device
   */
  public void copy(
      DeviceLink from,
      Block source,
      long sourceOffset,
      Block destination,
      long offset,
      long bytes) {
    TransferContext context = TransferContext.current();
    Queue queue = copies.queueFor(context);
    long step = context.chunkOr(paths.copyChunk(from.device.equals(device), from.name()));
    inChunks(
        bytes,
        step,
        copies.gate(),
        context,
        (at, count) -> copy(queue, source, sourceOffset + at, destination, offset + at, count));
  }

  /** Starts a copy within the device's memory. The caller waits for the event and closes it. */
  public Event startCopy(Block source, Block destination, long bytes) {
    return copy(copies.ordinary, source, 0, destination, 0, bytes);
  }

  private static Event copy(
      Queue queue, Block source, long sourceOffset, Block destination, long offset, long bytes) {
    return queue.copy(
        source.whole(),
        source.start() + sourceOffset,
        destination.whole(),
        destination.start() + offset,
        bytes);
  }

  private String name() {
    return device.info().name();
  }

  /** Fills the first bytes of a block. */
  public void fill(Block block, long bytes, byte value) {
    finish(copies.ordinary.fill(block.whole(), block.start(), bytes, value));
  }

  /**
   * Fills a range of a block with words, if the device has a command for that.
   *
   * @param width bytes of a word: 1, 2 or 4
   * @return whether the device has the command
   */
  public boolean fill(Block block, long offset, long bytes, int width, int word) {
    Event event =
        width == 1
            ? copies.ordinary.fill(block.whole(), block.start() + offset, bytes, (byte) word)
            : copies.ordinary.fillWords(block.whole(), block.start() + offset, bytes, width, word);
    if (event == null) {
      return false;
    }
    finish(event);
    return true;
  }

  /** Moves the pages of a shared block to the side that will use them next. */
  public void prefetch(Block block, long offset, long bytes, boolean toDevice) {
    Event event = copies.ordinary.prefetch(block.whole(), block.start() + offset, bytes, toDevice);
    if (event != null) {
      finish(event);
    }
  }

  /** Gives the host access to a mapped block. */
  public void acquire(Block block) {
    finish(copies.ordinary.acquire(block.whole()));
  }

  /** Returns a mapped block to the device. */
  public void release(Block block) {
    finish(copies.ordinary.release(block.whole()));
  }

  /**
   * Copies through staging blocks from a block that this device does not reach, or reaches only
   * slowly. While this device writes one chunk, the other device reads the next. Returns the path.
   */
  public TransferWay relay(
      DeviceLink from,
      Block source,
      long sourceOffset,
      Block destination,
      long offset,
      long bytes) {
    TransferContext context = TransferContext.current();
    Queue up = uploads.queueFor(context);
    Queue down = from.downloads.queueFor(context);
    return staging.move(
        STAGED_PINNED,
        bytes,
        1,
        null,
        uploads.gate(),
        context,
        new StagingRing.ChunkSteps() {
          @Override
          public void fill(MemorySegment staged, long at) {
            finish(down.read(source.whole(), source.start() + sourceOffset + at, staged));
          }

          @Override
          public Event submit(MemorySegment staged, long at) {
            return up.write(staged, destination.whole(), destination.start() + offset + at);
          }
        });
  }

  /** Returns whether one command should scatter or gather this many transfers. */
  boolean scatters(int moves, long bytes) {
    return uploads.ordinary.scattersAtOnce() && paths.scatters(moves, bytes);
  }

  boolean isDirect(HostRegion bytes, HostCopy copy) {
    return !way(bytes, copy, TransferContext.current()).isStaged();
  }

  boolean isPinned(MemorySegment hostBytes) {
    return device.isPinned(hostBytes);
  }

  long chunk() {
    return staging.chunk();
  }

  /** Returns a staging block, page-locked if possible and the transfer permits it. */
  public Lease lease(long bytes) {
    return staging.lease(bytes);
  }

  /**
   * Waits for the end of a command and closes its event.
   *
   * @throws RuntimeException the failure of the command
   */
  public static void finish(Event event) {
    try (event) {
      EventWait.untilEnded(event);
    }
  }

  /** Submits a part of a transfer without staging. */
  private interface Part {
    Event submit(long at, long count);
  }

  /**
   * Moves bytes directly, a chunk at a time with two in progress, so that the device never waits
   * for the host and other transfers can run between chunks. Chunks grow while they end quickly, so
   * the speed of the link need not be known. Towards the end they shrink: a thread that wakes late
   * from the wait for a long chunk is awake when the last one ends.
   *
   * @param step bytes of the first chunk
   */
  private static void inChunks(
      long size, long step, PriorityGate gate, TransferContext context, Part part) {
    int ahead = context.pipelined() ? 2 : 1;
    boolean grows = context.chunkOr(0) == 0;
    try (PendingCommands pending = new PendingCommands(ahead);
        PriorityGate.Passage passage = gate.enter(context)) {
      long chunk = step;
      long lastEnd = System.nanoTime();
      long at = 0;
      while (at < size) {
        if (pending.size() == ahead) {
          pending.finishOldest();
          long end = System.nanoTime();
          if (grows && end - lastEnd < TransferPaths.CHUNK_NANOS / 2) {
            chunk *= 2;
          }
          lastEnd = end;
        }
        long left = size - at;
        long count = Math.min(left, grows ? Math.min(chunk, Math.max(step, left / 2)) : chunk);
        passage.chunk(count);
        pending.makeRoom();
        pending.add(part.submit(at, count));
        at += count;
      }
      pending.finishAll();
    }
  }

  /** Waits for a command, so that its memory can be freed. Ignores its failure. */
  static void finishQuietly(Event event) {
    try {
      finish(event);
    } catch (RuntimeException | Error e) {
      FailureLog.debug("a transfer behind a failed one failed too", e);
    }
  }

  /** Closes the queues after the submitted commands. Closes all of them, even if a driver fails. */
  @Override
  public void close() {
    Closing.each("a queue", queues, Queue::close);
  }
}

package dev.tidepool.spi;

import dev.tidepool.KernelParameter;
import dev.tidepool.KernelSource;
import dev.tidepool.MemoryInfo;
import dev.tidepool.NativeHandle;
import dev.tidepool.NativeKind;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;

/**
 * An opened accelerator. Thread-safe.
 *
 * <p>Ownership: the runtime owns blocks, queues and programs and frees all of them before it closes
 * the device.
 */
public interface Device extends AutoCloseable {
  /** Returns what does not change. */
  DeviceInfo info();

  /** Returns its memory now. */
  MemoryInfo memory();

  /** Bytes of the largest single block of a kind that the device may have, DEVICE or UNIFIED. */
  default long largestBlock(BlockKind kind) {
    return info().maximumAllocation();
  }

  /**
   * Allocates a block, contents undefined.
   *
   * <p>{@link BlockKind#DEVICE} blocks of a device with {@code SHARED_MEMORY}, and all {@code
   * PINNED} and {@code UNIFIED} blocks, have a host segment. Commands take DEVICE and UNIFIED
   * blocks, and on a device with {@code SHARED_MEMORY} and {@code PINNED_MEMORY} PINNED ones too.
   *
   * @param bytes at least 1, at most {@link #largestBlock} of that kind unless PINNED
   * @param alignment a power of two, at least 1; holds for the device's address and the host's
   * @throws dev.tidepool.OutOfDeviceMemoryException if there is no room
   * @throws UnsupportedOperationException if the device has no such memory, or cannot align so
   */
  Block allocate(long bytes, long alignment, BlockKind kind);

  /**
   * Allocates a block as {@link #allocate(long, long, BlockKind)} does, with a preferred placement.
   * That counts for blocks of host memory only, and a device that has no choice ignores it.
   */
  default Block allocate(long bytes, long alignment, BlockKind kind, Placement placement) {
    return allocate(bytes, alignment, kind);
  }

  /**
   * The NUMA node of the host that this device is attached to, where it says so: page-locked memory
   * from there moves fastest.
   */
  default OptionalInt numaNode() {
    return OptionalInt.empty();
  }

  /**
   * Returns a block over memory of the host that is not the library's, if this device's commands
   * can use it where it lies; null if they need a copy. Freeing such a block leaves the memory
   * alone.
   *
   * <p>Only a device that touches the memory through its segment may answer with a block: the
   * caller can close the arena at any time, and a driver that runs a kernel over freed memory ends
   * the process.
   */
  default @Nullable Block adopt(MemorySegment memory) {
    return null;
  }

  /**
   * A block over memory of the host that is not the library's and that stays until the block is
   * freed, if this device's commands can use it where it lies; null if they need a copy. Freeing
   * such a block leaves the memory alone.
   */
  default @Nullable Block adoptLasting(MemorySegment memory) {
    return adopt(memory);
  }

  /**
   * Returns a block over memory of this device that code outside of Tidepool allocated. Freeing
   * such a block leaves the memory alone.
   *
   * @param memory begins at offset 0, and has at least 1 byte; its kind is never HOST_POINTER
   * @param written whether commands will write it
   * @throws IllegalArgumentException if it is not memory of this device and context, or there is
   *     less of it, or commands may not use it so
   */
  default Block adopt(NativeHandle memory, boolean written) {
    throw new IllegalArgumentException(
        info().id()
            + " has no memory of kind "
            + memory.kind()
            + "; adopt it with the manager of its device, or copy it to the host and adopt that as"
            + " HOST_POINTER");
  }

  /** Shares memory of this device with other processes; empty if the device cannot. */
  default Optional<DeviceSharing> sharing() {
    return Optional.empty();
  }

  /**
   * Returns whether bytes of the host reach this device faster through a {@link BlockKind#PINNED}
   * block than by a copy straight from where they are.
   */
  default boolean prefersStaging(MemorySegment hostBytes) {
    return false;
  }

  /**
   * Returns whether bytes of the host lie in a {@link BlockKind#PINNED} block of this device's
   * driver.
   */
  default boolean isPinned(MemorySegment hostBytes) {
    return false;
  }

  /**
   * Page-locks memory of the host that is not the library's, so that commands reach it as they do
   * {@link BlockKind#PINNED} blocks. Its scope stays open until it is unlocked again.
   *
   * @return what unlocks it; null where it cannot be locked
   */
  default @Nullable Runnable lock(MemorySegment hostBytes) {
    return null;
  }

  /** Returns a new in-order queue of commands. */
  Queue createQueue();

  /** A queue whose commands go first where the device has to choose; for short ones. */
  default Queue createUrgentQueue() {
    return createQueue();
  }

  /** Returns whether launches may be submitted before those that they depend on have ended. */
  default LaunchOrder launchOrder() {
    return LaunchOrder.HOST;
  }

  /**
   * Returns whether code outside of Tidepool can use blocks in commands of its own, and queues for
   * them. If not, it gets host pointers.
   */
  default boolean lendsBlocks() {
    return false;
  }

  /** Returns the driver's handle of the context; 0 where the device has none. */
  default long contextHandle() {
    return 0;
  }

  /** Returns the driver's handle of the device; 0 where it has none. */
  default long deviceHandle() {
    return 0;
  }

  /**
   * Memory of a block for code outside of Tidepool. Only for devices that {@linkplain #lendsBlocks
   * lend blocks}.
   *
   * @param kind the kind of handle; null for the one that the block has anyway. Never HOST_POINTER
   * @throws UnsupportedOperationException if the block has no handle of that kind
   * @throws IllegalArgumentException if the driver cannot make one that begins at that offset
   */
  default NativeMemory lend(Block block, long offset, long bytes, @Nullable NativeKind kind) {
    throw new UnsupportedOperationException(info().id() + " lends host pointers only");
  }

  /**
   * Returns a queue that was made by code outside of Tidepool. Only for devices that {@linkplain
   * #lendsBlocks lend blocks}.
   *
   * @throws IllegalArgumentException if the queue is not of this device and context
   */
  default NativeQueue foreignQueue(long handle) {
    throw new UnsupportedOperationException(info().id() + " has no queues");
  }

  /**
   * Waits until the work has ended behind which code outside of Tidepool recorded an event. Called
   * on platform threads.
   *
   * @param event the driver's handle
   * @throws dev.tidepool.AcceleratorException if that work failed, or the driver does not know the
   *     event
   */
  default void awaitForeign(long event) {
    throw new UnsupportedOperationException(
        info().id()
            + " knows no events of other libraries; have the producer finish its work, and give no"
            + " event");
  }

  /**
   * Makes code. May take long, and may be called by several threads at once.
   *
   * @param parameters for a hand-written source its own; for an elementwise source all names that
   *     are bound, typed by the arguments: arrays by their elements, scalars as LONG, DOUBLE or
   *     BOOLEAN (weak in NumPy's sense). Launches give arguments in this order
   * @throws dev.tidepool.KernelCompilationException if the source is wrong
   * @throws UnsupportedOperationException if the device does not run such sources
   */
  Program compile(KernelSource source, List<KernelParameter> parameters);

  /** Returns whether a queue of this device can {@link Queue#copy} from blocks of that one. */
  boolean copiesFrom(Device other);

  /**
   * Returns whether such copies go straight, rather than by a detour of the driver's own. Returns
   * the same each time; devices answer yes for those that they copy from, unless they know better.
   */
  default boolean copiesDirectlyFrom(Device other) {
    return copiesFrom(other);
  }

  /**
   * Opens the direct way of copies from that device to this one, where the platform wants that
   * asked for. Copies are legal without it, and may be slower. Idempotent.
   *
   * @param other one that this device {@linkplain #copiesDirectlyFrom copies directly from}
   * @throws dev.tidepool.AcceleratorException if the driver refuses
   */
  default void enablePeer(Device other) {}

  /**
   * Closes what {@link #enablePeer} opened. No copy from that device to this one is under way.
   *
   * @throws dev.tidepool.AcceleratorException if the driver refuses
   */
  default void disablePeer(Device other) {}

  /** Ends the device. Idempotent; survives a lost device. */
  @Override
  void close();
}

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
 * <p>Ownership: the runtime owns blocks, queues and programs, and frees all of them before it
 * closes the device.
 */
public interface Device extends AutoCloseable {
  /** Returns the properties of the device, which do not change. */
  DeviceInfo info();

  /** Returns the current state of the memory. */
  MemoryInfo memory();

  /**
   * Returns the bytes of the largest single block of a kind, DEVICE or UNIFIED, that the device
   * allows.
   */
  default long largestBlock(BlockKind kind) {
    return info().maximumAllocation();
  }

  /**
   * Allocates a block with undefined contents.
   *
   * <p>{@link BlockKind#DEVICE} blocks of a device with {@code SHARED_MEMORY}, and all {@code
   * PINNED} and {@code UNIFIED} blocks, have a host segment. Commands take DEVICE and UNIFIED
   * blocks, and on a device with {@code SHARED_MEMORY} and {@code PINNED_MEMORY} also PINNED
   * blocks.
   *
   * @param bytes at least 1, at most {@link #largestBlock} of that kind unless PINNED
   * @param alignment a power of two, at least 1, for the device's address and the host's
   * @throws dev.tidepool.OutOfDeviceMemoryException if there is no room
   * @throws UnsupportedOperationException if the device does not support the kind or the alignment
   */
  Block allocate(long bytes, long alignment, BlockKind kind);

  /**
   * Like {@link #allocate(long, long, BlockKind)}, with a preferred placement. The default ignores
   * the placement, which is right for devices that have no choice.
   */
  default Block allocate(long bytes, long alignment, BlockKind kind, Placement placement) {
    return allocate(bytes, alignment, kind);
  }

  /**
   * Returns the NUMA node of the host that this device is attached to; empty if it is unknown.
   * Page-locked memory of that node is transferred fastest.
   */
  default OptionalInt numaNode() {
    return OptionalInt.empty();
  }

  /**
   * Returns a block over external memory of the host, if this device's commands can use it in
   * place; null if they need a copy. Freeing the block does not free the memory.
   *
   * <p>Only a device that accesses the memory through its segment may return a block: the program
   * can close the arena at any time, and a driver that runs a kernel over freed memory crashes the
   * process.
   */
  default @Nullable Block adopt(MemorySegment memory) {
    return null;
  }

  /** Like {@link #adopt(MemorySegment)}, for memory that stays valid until the block is freed. */
  default @Nullable Block adoptLasting(MemorySegment memory) {
    return adopt(memory);
  }

  /**
   * Returns a block over memory of this device that code outside of Tidepool allocated. Freeing the
   * block does not free the memory.
   *
   * @param memory the memory, at offset 0, of at least 1 byte, and of a kind other than
   *     HOST_POINTER
   * @param written whether commands will write the memory
   * @throws IllegalArgumentException if the memory does not belong to this device and context, is
   *     smaller, or may not be used by commands in this way
   */
  default Block adopt(NativeHandle memory, boolean written) {
    throw new IllegalArgumentException(
        info().id()
            + " has no memory of kind "
            + memory.kind()
            + "; adopt it with the manager of its device, or copy it to the host and adopt that as"
            + " HOST_POINTER");
  }

  /**
   * Returns the way to share memory of this device with other processes; empty if the device
   * cannot.
   */
  default Optional<DeviceSharing> sharing() {
    return Optional.empty();
  }

  /**
   * Returns whether bytes of the host are copied to this device faster through a {@link
   * BlockKind#PINNED} block than directly.
   */
  default boolean prefersStaging(MemorySegment hostBytes) {
    return false;
  }

  /**
   * Returns whether bytes of the host are in a {@link BlockKind#PINNED} block of this device's
   * driver.
   */
  default boolean isPinned(MemorySegment hostBytes) {
    return false;
  }

  /**
   * Page-locks external memory of the host, so that commands access it like {@link
   * BlockKind#PINNED} blocks. Its scope stays open until it is unlocked.
   *
   * @return the action that unlocks the memory; null if it cannot be locked
   */
  default @Nullable Runnable lock(MemorySegment hostBytes) {
    return null;
  }

  /** Returns a new in-order queue. */
  Queue createQueue();

  /** Returns a new queue for short commands, which have priority over those of other queues. */
  default Queue createUrgentQueue() {
    return createQueue();
  }

  /** Returns how launches that depend on each other are ordered. */
  default LaunchOrder launchOrder() {
    return LaunchOrder.HOST;
  }

  /**
   * Returns whether code outside of Tidepool can use blocks in its own commands, and queues for
   * these. If not, it receives host pointers.
   */
  default boolean lendsBlocks() {
    return false;
  }

  /** Returns the driver's handle of the context; 0 if the device has none. */
  default long contextHandle() {
    return 0;
  }

  /** Returns the driver's handle of the device; 0 if it has none. */
  default long deviceHandle() {
    return 0;
  }

  /**
   * Returns memory of a block for code outside of Tidepool. Only for devices that {@linkplain
   * #lendsBlocks lend blocks}.
   *
   * @param kind the kind of handle, never HOST_POINTER; null for the block's native kind
   * @throws UnsupportedOperationException if the block has no handle of that kind
   * @throws IllegalArgumentException if the driver cannot create a handle that begins at that
   *     offset
   */
  default NativeMemory lend(Block block, long offset, long bytes, @Nullable NativeKind kind) {
    throw new UnsupportedOperationException(info().id() + " lends host pointers only");
  }

  /**
   * Returns a queue over the handle of a queue that code outside of Tidepool created. Only for
   * devices that {@linkplain #lendsBlocks lend blocks}.
   *
   * @throws IllegalArgumentException if the queue does not belong to this device and context
   */
  default NativeQueue foreignQueue(long handle) {
    throw new UnsupportedOperationException(info().id() + " has no queues");
  }

  /**
   * Waits for an event that code outside of Tidepool recorded. Called on platform threads.
   *
   * @param event the driver's handle of the event
   * @throws dev.tidepool.AcceleratorException if the work before the event failed, or the driver
   *     does not know the event
   */
  default void awaitForeign(long event) {
    throw new UnsupportedOperationException(
        info().id()
            + " knows no events of other libraries; have the producer finish its work, and give no"
            + " event");
  }

  /**
   * Compiles a kernel. May take long, and may be called by several threads at once.
   *
   * @param parameters for a hand-written source its own parameters. For an elementwise source all
   *     bound names, with the types of the arguments: arrays have their element types, scalars are
   *     LONG, DOUBLE or BOOLEAN (weak in NumPy's sense). Launches pass arguments in this order
   * @throws dev.tidepool.KernelCompilationException if the source is wrong
   * @throws UnsupportedOperationException if the device does not support the kind of source
   */
  Program compile(KernelSource source, List<KernelParameter> parameters);

  /** Returns whether this device's queues can {@link Queue#copy} from another device's blocks. */
  boolean copiesFrom(Device other);

  /**
   * Returns whether these copies are direct, not routed by the driver through other memory. The
   * result never changes. The default assumes that every possible copy is direct.
   */
  default boolean copiesDirectlyFrom(Device other) {
    return copiesFrom(other);
  }

  /**
   * Enables direct copies from another device to this one, if the platform requires that. Copies
   * work without this call, but may be slower. Idempotent.
   *
   * @param other a device that this device {@linkplain #copiesDirectlyFrom copies directly from}
   * @throws dev.tidepool.AcceleratorException if the driver refuses
   */
  default void enablePeer(Device other) {}

  /**
   * Disables what {@link #enablePeer} enabled. No copy from that device to this one is in progress.
   *
   * @throws dev.tidepool.AcceleratorException if the driver refuses
   */
  default void disablePeer(Device other) {}

  /** Closes the device. Idempotent; must not fail if the device is lost. */
  @Override
  void close();
}

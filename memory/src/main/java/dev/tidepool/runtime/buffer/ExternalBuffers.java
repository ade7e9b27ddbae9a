package dev.tidepool.runtime.buffer;

import dev.tidepool.Allocation;
import dev.tidepool.Capability;
import dev.tidepool.ElementType;
import dev.tidepool.MapMode;
import dev.tidepool.MemoryLocation;
import dev.tidepool.OutOfDeviceMemoryException;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.host.SharedFolder;
import dev.tidepool.host.SharedMemory;
import dev.tidepool.runtime.metering.AllocationLedger;
import dev.tidepool.runtime.metering.LeakDetector;
import dev.tidepool.runtime.metering.LeakGroup;
import dev.tidepool.runtime.reclaim.BlockAllocator;
import dev.tidepool.runtime.reclaim.Reclaimer;
import dev.tidepool.runtime.storage.BackingBlocks;
import dev.tidepool.runtime.storage.BufferCore;
import dev.tidepool.runtime.storage.Storage;
import dev.tidepool.runtime.storage.StorageContext;
import dev.tidepool.runtime.supply.SessionResources;
import dev.tidepool.spi.Block;
import dev.tidepool.spi.Device;
import dev.tidepool.spi.ShareableBlock;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.Objects;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * How a manager's buffers are born over memory that is no pool's: a segment of the caller's, a
 * mapped file, or what processes share. What was opened for a buffer ends with it, and at once if
 * there comes to be no buffer. Safe for use by any thread.
 */
public final class ExternalBuffers {
  /** Some thread that is not the caller's; never started. */
  private static final Thread OTHER_THREAD = Thread.ofPlatform().unstarted(() -> {});

  private final StorageContext context;
  private final SessionResources resources;
  private final Reclaimer room;
  private final BlockAllocator blocks;
  private final LeakDetector leakDetector;
  private final AllocationLedger ledger;

  public ExternalBuffers(
      StorageContext context,
      SessionResources resources,
      Reclaimer room,
      BlockAllocator blocks,
      LeakDetector leakDetector,
      AllocationLedger ledger) {
    this.context = context;
    this.resources = resources;
    this.room = room;
    this.blocks = blocks;
    this.leakDetector = leakDetector;
    this.ledger = ledger;
  }

  /** Whether other threads than the caller may touch a segment. */
  public static boolean isForAllThreads(MemorySegment segment) {
    return segment.isAccessibleBy(OTHER_THREAD);
  }

  /** Over a segment of the caller's, who keeps it. */
  public <A> UnifiedBuffer<A> wrap(ElementType<A> type, MemorySegment segment) {
    checkWrappable(type, segment);
    return over(type, segment, null, null, true, "wrapped");
  }

  /**
   * The same, page-locked while the buffer lives.
   *
   * @param locking locks a segment; what unlocks it again, or null where nothing can lock it
   */
  public <A> UnifiedBuffer<A> wrapLocked(
      ElementType<A> type,
      MemorySegment segment,
      Function<MemorySegment, @Nullable Runnable> locking) {
    checkWrappable(type, segment);
    long length = type.elements(segment.byteSize());
    Runnable unlocking = locking.apply(segment);
    if (unlocking == null) {
      return wrap(type, segment);
    }
    try {
      Allocation pinned = Allocation.at(MemoryLocation.PINNED).tag("wrapped");
      return born(type, length, pinned, BackingBlocks.locked(segment, unlocking), true);
    } catch (RuntimeException | Error e) {
      unlocking.run();
      throw e;
    }
  }

  private static void checkWrappable(ElementType<?> type, MemorySegment segment) {
    Objects.requireNonNull(type, "type");
    Objects.requireNonNull(segment, "memory");
    if (!segment.isNative() || segment.isReadOnly() || !isForAllThreads(segment)) {
      throw new IllegalArgumentException(
          "wrap takes a writable native segment that all threads may access, such as one of"
              + " Arena.ofShared(); use copyOf or allocate for others");
    }
  }

  /** Over a file. */
  public <A> UnifiedBuffer<A> map(Path file, ElementType<A> type, MapMode mode) {
    Objects.requireNonNull(file, "file");
    Objects.requireNonNull(type, "type");
    Objects.requireNonNull(mode, "mode");
    Arena arena = Arena.ofShared();
    Runnable ending = resources.foreign(arena::close);
    try {
      MappedFile mapped = MappedFile.map(file, mode, arena);
      String tag = file.getFileName().toString();
      return over(type, mapped.bytes(), mapped.key(), ending, mode.writes(), tag);
    } catch (RuntimeException | Error e) {
      ending.run();
      throw e;
    }
  }

  /** Over new memory that other processes find by its name. */
  public <A> UnifiedBuffer<A> createShared(
      ElementType<A> type, long length, String name, MemoryLocation location) {
    Objects.requireNonNull(type, "type");
    Objects.requireNonNull(name, "name");
    if (!sharesOnDevice(location)) {
      return over(type, SharedMemory.create(folder(), type, length, name), name);
    }
    SharedDeviceMemory shared =
        SharedDeviceMemory.create(context, this::allocateShareable, folder(), type, length, name);
    return over(type, shared, name, () -> publish(shared));
  }

  /** Over memory that has a name already. */
  public <A> UnifiedBuffer<A> openShared(
      ElementType<A> type, String name, MemoryLocation location) {
    Objects.requireNonNull(type, "type");
    Objects.requireNonNull(name, "name");
    if (!sharesOnDevice(location)) {
      return over(type, SharedMemory.open(folder(), type, name), name);
    }
    SharedDeviceMemory shared = SharedDeviceMemory.open(context, folder(), type, name);
    return over(type, shared, name, () -> {});
  }

  private boolean sharesOnDevice(MemoryLocation location) {
    return switch (Objects.requireNonNull(location, "location")) {
      case HOST -> false;
      case DEVICE -> !context.device().info().can(Capability.SHARED_MEMORY);
      case PINNED, UNIFIED ->
          throw new IllegalArgumentException(
              "memory at " + location + " is this process's alone; share HOST or DEVICE memory");
    };
  }

  /** What others find is zeros. */
  private void publish(SharedDeviceMemory shared) {
    context.link().fill(shared.block(), 0, shared.block().byteSize(), (byte) 0);
    shared.publish();
  }

  /** Memory of the device that processes can share, for which room is made where it is short. */
  private ShareableBlock allocateShareable(long bytes) {
    Device device = context.device();
    try {
      return device.allocateShareable(bytes);
    } catch (OutOfDeviceMemoryException e) {
      // Pools may keep what is missing.
      room.trimDevice();
    }
    try {
      return device.allocateShareable(bytes);
    } catch (OutOfDeviceMemoryException e) {
      blocks.makeDeviceRoom(bytes);
      return device.allocateShareable(bytes);
    }
  }

  private SharedFolder folder() {
    return SharedFolder.of(context.options().sharedDirectory());
  }

  private <A> UnifiedBuffer<A> over(ElementType<A> type, SharedMemory shared, String name) {
    Runnable ending = resources.foreign(shared::close);
    try {
      return over(type, shared.segment(), null, ending, true, name);
    } catch (RuntimeException | Error e) {
      ending.run();
      throw e;
    }
  }

  private <A> UnifiedBuffer<A> over(
      ElementType<A> type, SharedDeviceMemory shared, String name, Runnable beginning) {
    Runnable ending = resources.foreign(shared::close);
    try {
      beginning.run();
      BackingBlocks copies =
          BackingBlocks.amongProcesses(type.bytes(shared.length()), shared.block(), ending);
      return born(
          type, shared.length(), Allocation.at(MemoryLocation.DEVICE).tag(name), copies, true);
    } catch (RuntimeException | Error e) {
      ending.run();
      throw e;
    }
  }

  private <A> UnifiedBuffer<A> over(
      ElementType<A> type,
      MemorySegment segment,
      @Nullable Object file,
      @Nullable Runnable ending,
      boolean writable,
      String tag) {
    // Before the device has a block that would have to be freed again.
    long length = type.elements(segment.byteSize());
    Block given = context.device().adopt(segment);
    Block adopted = given == null ? null : resources.opened(given);
    try {
      BackingBlocks copies = BackingBlocks.foreign(segment, adopted, ending, file);
      return born(type, length, Allocation.at(MemoryLocation.HOST).tag(tag), copies, writable);
    } catch (RuntimeException | Error e) {
      if (adopted != null) {
        adopted.free();
      }
      throw e;
    }
  }

  private <A> UnifiedBuffer<A> born(
      ElementType<A> type,
      long length,
      Allocation allocation,
      BackingBlocks copies,
      boolean writable) {
    long bytes = type.bytes(length);
    LeakGroup.Token sampled = leakDetector.sampled(bytes);
    LeakGroup.Token token = sampled == null ? leakDetector.join() : sampled;
    BufferCore core = BufferCore.withoutBlock(type, length, allocation, token.leakGroup());
    core.settle(new Storage(core, copies, writable));
    ledger.allocated(allocation.tag(), bytes);
    context.counters().adopted();
    context.registry().addWithoutBlock(core);
    // A manager that is closing now waits for this operation, and closes the buffer then.
    return new RootBuffer<>(core, token, type);
  }
}

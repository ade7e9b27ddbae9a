package dev.tidepool.runtime.buffer;

import dev.tidepool.Allocation;
import dev.tidepool.Capability;
import dev.tidepool.ElementType;
import dev.tidepool.MapMode;
import dev.tidepool.MemoryLocation;
import dev.tidepool.NativeHandle;
import dev.tidepool.OutOfDeviceMemoryException;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.host.SharedFolder;
import dev.tidepool.host.SharedMemory;
import dev.tidepool.pool.block.BlockPart;
import dev.tidepool.runtime.metering.AllocationLedger;
import dev.tidepool.runtime.metering.LeakDetector;
import dev.tidepool.runtime.metering.LeakGroup;
import dev.tidepool.runtime.reclaim.BlockAllocator;
import dev.tidepool.runtime.reclaim.Reclaimer;
import dev.tidepool.runtime.storage.AdoptedHostMemory;
import dev.tidepool.runtime.storage.BackingBlocks;
import dev.tidepool.runtime.storage.BufferCore;
import dev.tidepool.runtime.storage.Storage;
import dev.tidepool.runtime.storage.StorageContext;
import dev.tidepool.runtime.supply.SessionResources;
import dev.tidepool.spi.Block;
import dev.tidepool.spi.DeviceSharing;
import dev.tidepool.spi.SharedBlock;
import dev.tidepool.spi.support.FailureLog;
import dev.tidepool.spi.support.FileErrors;
import dev.tidepool.spi.support.SegmentAccess;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.Objects;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Creates buffers over memory that no pool owns: a segment of the caller, memory of another
 * library, a mapped file, or memory that processes share. Resources that are opened for a buffer
 * are closed with it, or at once if it cannot be created. Thread-safe.
 */
public final class ExternalBuffers {
  private static final System.Logger LOG = System.getLogger("dev.tidepool");

  private final StorageContext context;
  private final SessionResources resources;
  private final Reclaimer reclaimer;
  private final BlockAllocator blocks;
  private final LeakDetector leakDetector;
  private final AllocationLedger ledger;

  public ExternalBuffers(
      StorageContext context,
      SessionResources resources,
      Reclaimer reclaimer,
      BlockAllocator blocks,
      LeakDetector leakDetector) {
    this.context = context;
    this.resources = resources;
    this.reclaimer = reclaimer;
    this.blocks = blocks;
    this.leakDetector = leakDetector;
    this.ledger = context.ledger();
  }

  /** Wraps a segment, which stays the caller's. */
  public <A> UnifiedBuffer<A> wrap(ElementType<A> type, MemorySegment segment, String tag) {
    checkWrappable(type, segment);
    return over(type, segment, null, null, true, tag);
  }

  /**
   * Wraps a segment and page-locks it until the buffer is closed.
   *
   * @param locking locks a segment; returns its unlocking, or null if it cannot be locked
   */
  public <A> UnifiedBuffer<A> wrapLocked(
      ElementType<A> type,
      MemorySegment segment,
      Function<MemorySegment, @Nullable Runnable> locking,
      String tag) {
    checkWrappable(type, segment);
    long length = type.elements(segment.byteSize());
    Runnable unlocking = locking.apply(segment);
    if (unlocking == null) {
      return wrap(type, segment, tag);
    }
    try {
      Allocation pinned = Allocation.at(MemoryLocation.PINNED).tag(tag);
      return create(type, length, pinned, BackingBlocks.locked(segment, unlocking), true);
    } catch (RuntimeException | Error e) {
      unlocking.run();
      throw e;
    }
  }

  private static void checkWrappable(ElementType<?> type, MemorySegment segment) {
    Objects.requireNonNull(type, "type");
    Objects.requireNonNull(segment, "memory");
    if (!segment.isNative() || segment.isReadOnly() || !SegmentAccess.isForAllThreads(segment)) {
      throw new IllegalArgumentException(
          "wrap takes a writable native segment that all threads may access, such as one of"
              + " Arena.ofShared(); use copyOf or allocate for others");
    }
  }

  /**
   * Adopts memory of another library.
   *
   * @param release returns the memory to its library; does not run if this throws
   */
  public <A> UnifiedBuffer<A> adopt(
      ElementType<A> type, NativeHandle memory, MapMode mode, Runnable release) {
    Objects.requireNonNull(type, "type");
    Objects.requireNonNull(mode, "mode");
    Objects.requireNonNull(release, "release");
    AdoptionChecks.check(type, memory);
    Runnable quietly = () -> run(release);
    return AdoptionChecks.isOnHost(memory)
        ? adoptOnHost(type, AdoptionChecks.segment(memory), mode, quietly)
        : adoptOnDevice(type, memory, mode, quietly);
  }

  /** Runs a release, whose exceptions must not stop a close. Other languages throw checked ones. */
  private static void run(Runnable release) {
    try {
      release.run();
    } catch (Throwable e) {
      FailureLog.warn("the release of adopted memory failed", e);
    }
  }

  private <A> UnifiedBuffer<A> adoptOnHost(
      ElementType<A> type, MemorySegment segment, MapMode mode, Runnable release) {
    AdoptedHostMemory memory = new AdoptedHostMemory(segment, release);
    Runnable ending = resources.foreign(memory);
    try {
      return over(
          type,
          segment,
          Allocation.at(MemoryLocation.HOST).tag("adopted"),
          mode.writes(),
          context.device()::adoptLasting,
          block -> BackingBlocks.adopted(memory, block, ending));
    } catch (RuntimeException | Error e) {
      resources.forget(ending);
      throw e;
    }
  }

  private <A> UnifiedBuffer<A> adoptOnDevice(
      ElementType<A> type, NativeHandle memory, MapMode mode, Runnable release) {
    // May throw, so it runs before there is a block to free.
    long length = type.elements(memory.byteSize());
    Block whole =
        resources.opened(context.device().adopt(AdoptionChecks.whole(memory), mode.writes()));
    Runnable ending = null;
    try {
      ending = resources.foreign(() -> giveBack(whole.segment(), release));
      Block block = new BlockPart(whole, AdoptionChecks.start(memory), memory.byteSize());
      return create(
          type,
          length,
          Allocation.at(MemoryLocation.DEVICE).tag("adopted"),
          BackingBlocks.onDevice(whole, block, ending),
          mode.writes());
    } catch (RuntimeException | Error e) {
      if (ending != null) {
        resources.forget(ending);
      }
      whole.free();
      throw e;
    }
  }

  /** Runs the release, unless a native call still uses the segment of an unfreed block. */
  private static void giveBack(@Nullable MemorySegment segment, Runnable release) {
    if (segment != null && segment.scope().isAlive()) {
      LOG.log(
          System.Logger.Level.WARNING,
          segment.byteSize()
              + " bytes of another library are still in use, and are not given back; end native"
              + " calls before the buffer is closed");
    } else {
      release.run();
    }
  }

  public <A> UnifiedBuffer<A> map(Path file, ElementType<A> type, MapMode mode, String tag) {
    Objects.requireNonNull(file, "file");
    Objects.requireNonNull(type, "type");
    Objects.requireNonNull(mode, "mode");
    Arena arena = Arena.ofShared();
    Runnable ending = resources.foreign(arena::close);
    try {
      MappedFile mapped = MappedFile.map(file, mode, arena);
      long bytes = mapped.bytes().byteSize();
      if (bytes % type.byteSize() != 0) {
        throw FileErrors.noElements(file, bytes, type);
      }
      return over(type, mapped.bytes(), mapped.key(), ending, mode.writes(), tag);
    } catch (RuntimeException | Error e) {
      ending.run();
      throw e;
    }
  }

  /** Creates a buffer over memory that other processes can open by its name. */
  public <A> UnifiedBuffer<A> createShared(
      ElementType<A> type, long length, String name, MemoryLocation location) {
    Objects.requireNonNull(type, "type");
    Objects.requireNonNull(name, "name");
    if (!sharesOnDevice(location)) {
      return over(type, SharedMemory.create(folder(), type, length, name), name);
    }
    return over(type, createOnDevice(type, length, name), name);
  }

  /** Creates a buffer over memory that a process has created under a name. */
  public <A> UnifiedBuffer<A> openShared(
      ElementType<A> type, String name, MemoryLocation location) {
    Objects.requireNonNull(type, "type");
    Objects.requireNonNull(name, "name");
    if (!sharesOnDevice(location)) {
      return over(type, SharedMemory.open(folder(), type, name), name);
    }
    // A manager that is closing waits for this call, so the wait in the call must end.
    return over(type, sharing().open(folder().path(), name, type, context::checkOpen), name);
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

  private DeviceSharing sharing() {
    return context
        .device()
        .sharing()
        .orElseThrow(
            () ->
                new UnsupportedOperationException(
                    context.device().info().id()
                        + " cannot share its memory with other processes; share memory of the host,"
                        + " with MemoryLocation.HOST"));
  }

  /** Creates shared memory of the device; frees other memory if the device is full. */
  private SharedBlock createOnDevice(ElementType<?> type, long length, String name) {
    DeviceSharing sharing = sharing();
    Path folder = folder().path();
    try {
      return sharing.create(folder, name, type, length);
    } catch (OutOfDeviceMemoryException e) {
      // The pools may keep idle memory.
      reclaimer.trimDevice();
    }
    try {
      return sharing.create(folder, name, type, length);
    } catch (OutOfDeviceMemoryException e) {
      blocks.makeDeviceRoom(e.requestedBytes());
      return sharing.create(folder, name, type, length);
    }
  }

  private SharedFolder folder() {
    return SharedFolder.of(context.options().sharedDirectory());
  }

  private <A> UnifiedBuffer<A> over(ElementType<A> type, SharedMemory shared, String name) {
    Runnable ending = null;
    try {
      ending = resources.foreign(shared::close);
      return over(type, shared.segment(), null, ending, true, name);
    } catch (RuntimeException | Error e) {
      if (ending == null) {
        shared.close();
      } else {
        ending.run();
      }
      throw e;
    }
  }

  private <A> UnifiedBuffer<A> over(ElementType<A> type, SharedBlock shared, String name) {
    Runnable ending = null;
    try {
      ending = resources.foreign(shared::close);
      BackingBlocks backing =
          BackingBlocks.amongProcesses(type.bytes(shared.length()), shared.block(), ending);
      return create(
          type, shared.length(), Allocation.at(MemoryLocation.DEVICE).tag(name), backing, true);
    } catch (RuntimeException | Error e) {
      if (ending == null) {
        shared.close();
      } else {
        ending.run();
      }
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
    return over(
        type,
        segment,
        Allocation.at(MemoryLocation.HOST).tag(tag),
        writable,
        context.device()::adopt,
        block -> BackingBlocks.foreign(segment, block, ending, file));
  }

  /**
   * Returns a buffer over host memory.
   *
   * @param adoption creates the device's block over the memory, if the device can access it
   * @param backing creates the backing blocks from that block
   */
  private <A> UnifiedBuffer<A> over(
      ElementType<A> type,
      MemorySegment segment,
      Allocation allocation,
      boolean writable,
      Function<MemorySegment, @Nullable Block> adoption,
      Function<@Nullable Block, BackingBlocks> backing) {
    // May throw, so it runs before there is a block to free.
    long length = type.elements(segment.byteSize());
    Block given = adoption.apply(segment);
    Block block = given == null ? null : resources.opened(given);
    try {
      return create(type, length, allocation, backing.apply(block), writable);
    } catch (RuntimeException | Error e) {
      if (block != null) {
        block.free();
      }
      throw e;
    }
  }

  private LeakGroup.Token tokenOf(BackingBlocks backing) {
    return backing.endsMemory() ? leakDetector.alone() : leakDetector.join();
  }

  private <A> UnifiedBuffer<A> create(
      ElementType<A> type,
      long length,
      Allocation allocation,
      BackingBlocks backing,
      boolean writable) {
    long bytes = type.bytes(length);
    LeakGroup.Token sampled = leakDetector.sampled(bytes);
    // The release of foreign memory must not wait for the other buffers of a leak group.
    LeakGroup.Token token = sampled == null ? tokenOf(backing) : sampled;
    BufferCore core = BufferCore.withoutBlock(type, length, allocation, token.leakGroup());
    core.settle(new Storage(core, backing, writable));
    // First: after an error the caller frees the memory, so the registry must not list it.
    RootBuffer<A> buffer = new RootBuffer<>(core, token, type);
    ledger.allocated(allocation.tag(), bytes);
    context.counters().adopted();
    try {
      context.registry().addWithoutBlock(core);
    } catch (RuntimeException | Error e) {
      ledger.freed(allocation.tag(), bytes);
      context.counters().took();
      throw e;
    }
    // A manager that is closing waits for this operation, and then closes the buffer.
    return buffer;
  }
}

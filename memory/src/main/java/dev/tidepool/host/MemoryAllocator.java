package dev.tidepool.host;

import dev.tidepool.MemoryInfo;
import dev.tidepool.OutOfDeviceMemoryException;
import dev.tidepool.host.system.LibC;
import dev.tidepool.host.system.OwnMemory;
import dev.tidepool.spi.support.FailureLog;
import dev.tidepool.spi.support.SegmentAccess;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Blocks of the host's memory, aligned, contents undefined.
 *
 * {@snippet :
 * MemoryAllocator allocator = new MemoryAllocator();
 * HostBlock block = allocator.allocate(1 << 20);
 * block.segment().fill((byte) 0);
 * block.free();
 * }
 *
 * <p>Up to 2 MiB they come from the C library's heap; larger ones are pages mapped for the block
 * alone, huge ones where the system has them, because the first write to fresh small pages takes
 * four times as long. A {@link HostRequest} can ask for more: huge pages that were set aside, and
 * NUMA nodes; page locking needs a {@link PinnedBudget}. What is not available is replaced by the
 * next simpler thing and counted, and each block tells what it really got. Where the C library
 * cannot be called, blocks come from Java arenas.
 *
 * <p>A block's segment works until the block is freed, and then fails with an {@link
 * IllegalStateException}. Making and freeing a block costs 50 to 150 microseconds, nearly all of it
 * for ending the segment on every thread: keep blocks in a pool. Thread-safe.
 */
public final class MemoryAllocator {
  /** The alignment of small blocks, in bytes: a cache line. */
  public static final long SMALL_ALIGNMENT = 64;

  /** The alignment of blocks from {@link #LARGE_FROM} up, in bytes: a page of most systems. */
  public static final long LARGE_ALIGNMENT = 4096;

  /** From how many bytes on a block has the large alignment. */
  public static final long LARGE_FROM = 64L << 10;

  /** Above this, a request is held against the memory that is free before the system is asked. */
  private static final long CHECKED_FROM = 64L << 20;

  private final boolean nativeAllocation;
  private final AllocatorCounters counters = new AllocatorCounters();

  /** Creates an allocator; all of a process share the system's memory, each counts what it gave. */
  public MemoryAllocator() {
    this(LibC.hasAlignedAllocation());
  }

  /** Creates an allocator that may be told to do without the C library. */
  MemoryAllocator(boolean nativeAllocation) {
    this.nativeAllocation = nativeAllocation;
  }

  /** The alignment that a block of this size gets when none is asked for. */
  public static long defaultAlignment(long bytes) {
    return HostRequest.defaultAlignment(bytes);
  }

  /** Returns a block with the default alignment; see {@link #allocate(HostRequest)}. */
  public HostBlock allocate(long bytes) {
    return allocate(HostRequest.of(bytes));
  }

  /** Returns a block; see {@link #allocate(HostRequest)}. */
  public HostBlock allocate(long bytes, long alignment) {
    return allocate(HostRequest.of(bytes).aligned(alignment));
  }

  /**
   * Returns a block. What it really got is its {@link HostBlock#backing()}.
   *
   * @throws OutOfDeviceMemoryException if the system has no room, or certainly will not have it
   *     once the block is written
   */
  public HostBlock allocate(HostRequest request) {
    checkRoom(request);
    HostBlock block = nativeAllocation ? ofSystem(request) : ofArena(request);
    try {
      counters.countRefusals(request, block.backing());
      return block;
    } catch (Throwable e) {
      // The heap may be full. The caller gets no block.
      block.free();
      throw e;
    }
  }

  /**
   * Returns a block whose pages stay in memory, or a plain one if {@link #tryAllocateLocked} gives
   * none.
   *
   * @throws OutOfDeviceMemoryException if the system has no room for a plain one either
   */
  public HostBlock allocateLocked(HostRequest request, PinnedBudget budget) {
    return tryAllocateLocked(request, budget).orElseGet(() -> allocate(request));
  }

  /**
   * Returns a block whose pages stay in memory; empty, and counted, if the budget or the system
   * says no, or the system has no page locking, or there are no bytes to lock. All it occupies
   * counts against the budget until it is freed.
   */
  public Optional<HostBlock> tryAllocateLocked(HostRequest request, PinnedBudget budget) {
    MappedRegion locked = nativeAllocation ? locked(request, budget) : null;
    if (locked == null) {
      counters.countRefusedLock();
      return Optional.empty();
    }
    HostBlock block = block(locked, request.bytes(), budget);
    try {
      counters.countRefusals(request, block.backing());
      return Optional.of(block);
    } catch (Throwable e) {
      // Likewise.
      block.free();
      throw e;
    }
  }

  private static @Nullable MappedRegion locked(HostRequest request, PinnedBudget budget) {
    long bytes = request.bytes();
    // Without room for it the system would kill a process, and not refuse.
    if (!LibC.hasLocking()
        || bytes == 0
        || bytes > budget.limitBytes() - budget.usedBytes()
        || (bytes >= CHECKED_FROM && bytes > HostMemory.now().freeBytes())) {
      return null;
    }
    MappedRegion memory = ReservedMapping.of(request);
    if (memory == null) {
      return null;
    }
    boolean charged = budget.reserve(memory.backing().bytes());
    MappedRegion locked = null;
    try {
      locked = charged ? memory.locked() : null;
      return locked;
    } finally {
      if (locked == null) {
        giveBack(memory, charged ? budget : null);
      }
    }
  }

  /**
   * Returns a block over memory that stays its owner's: freeing the block leaves the memory alone,
   * and the block must not outlive it.
   *
   * @param memory writable and native, and open to all threads
   * @throws IllegalArgumentException if it is not
   */
  public HostBlock wrap(MemorySegment memory) {
    checkForeign(memory);
    return wrapped(null, memory, () -> {});
  }

  /**
   * Returns a block over memory that the block owns from now on.
   *
   * @param memory writable and native, and open to all threads. If nothing else ends it (it is of
   *     the global scope, as those that foreign functions return are), its segment in the block
   *     ends before the release
   * @param release gives the memory back; run exactly once, when the block is freed, and where it
   *     is the block that ends the segment, not before calls that use it are over. Closing an arena
   *     fails while such a call lasts, and is not tried again. What it throws is logged
   * @throws IllegalArgumentException if the memory is not like that; it is still the caller's then
   */
  public HostBlock adopt(MemorySegment memory, Runnable release) {
    checkForeign(memory);
    Objects.requireNonNull(release, "release");
    Runnable quietly =
        () -> {
          try {
            release.run();
          } catch (RuntimeException | Error e) {
            FailureLog.warn("the release of adopted memory failed", e);
          }
        };
    if (!memory.scope().equals(Arena.global().scope())) {
      return wrapped(null, memory, quietly);
    }
    Arena arena = Arena.ofShared();
    return wrapped(arena, memory.reinterpret(arena, null), quietly);
  }

  private HostBlock wrapped(@Nullable Arena arena, MemorySegment memory, Runnable release) {
    UsageCounter.Gauge gauge = counters.wrapped();
    HostBlock block =
        new HostBlock(
            false,
            arena,
            memory,
            GrantedMemory.plain(memory.byteSize()),
            () -> {
              release.run();
              gauge.remove(memory.byteSize());
            });
    gauge.add(memory.byteSize());
    return block;
  }

  private static void checkForeign(MemorySegment memory) {
    if (!memory.isNative() || memory.isReadOnly() || !SegmentAccess.isForAllThreads(memory)) {
      throw new IllegalArgumentException(
          "a block is made over writable native memory that all threads may access, such as a"
              + " segment of Arena.ofShared(); copy other memory into an allocated block");
    }
  }

  /** Returns what this allocator gave and was refused. */
  public AllocatorStatistics statistics() {
    return counters.statistics();
  }

  private static void checkRoom(HostRequest request) {
    long bytes = request.bytes();
    if (bytes < CHECKED_FROM) {
      return;
    }
    if (bytes > HostMemory.obtainableBytes()) {
      throw outOfMemory(bytes, "so much is not free");
    }
    NumaPolicy numa = request.numa();
    if (numa.mode() == NumaPolicy.Mode.BIND && bytes > NumaNodes.freeBytes(numa.nodes())) {
      throw outOfMemory(bytes, "the NUMA nodes " + numa.nodes() + " do not have so much free");
    }
  }

  private HostBlock ofSystem(HostRequest request) {
    long bytes = request.bytes();
    if (bytes == 0) {
      // An address that is aligned as asked, and that nothing can be read from.
      Arena arena = Arena.ofShared();
      MemorySegment nothing = MemorySegment.ofAddress(request.alignment()).reinterpret(arena, null);
      return tracked(arena, nothing, GrantedMemory.plain(0), () -> {});
    }
    MappedRegion memory = null;
    if (bytes <= Long.MAX_VALUE / 2) {
      memory =
          request.needsOwnPages()
              ? ReservedMapping.of(request)
              : MappedRegion.allocate(bytes, request.alignment());
    }
    if (memory == null) {
      throw outOfMemory(bytes, "the system refused");
    }
    return block(memory, bytes, null);
  }

  /**
   * Returns a block over memory that the system has just given. If this throws, the memory has gone
   * back.
   *
   * @param budget that the memory is charged to; null for none
   */
  private HostBlock block(MappedRegion memory, long bytes, @Nullable PinnedBudget budget) {
    try {
      Arena arena = Arena.ofShared();
      MemorySegment segment =
          MemorySegment.ofAddress(memory.address()).reinterpret(bytes, arena, null);
      return tracked(arena, segment, memory.backing(), () -> giveBack(memory, budget));
    } catch (Throwable e) {
      // The heap may be full. No other code has the segment yet.
      giveBack(memory, budget);
      throw e;
    }
  }

  private static void giveBack(MappedRegion memory, @Nullable PinnedBudget budget) {
    try {
      memory.free();
    } finally {
      if (budget != null) {
        budget.giveBack(memory.backing().bytes());
      }
    }
  }

  private HostBlock ofArena(HostRequest request) {
    long bytes = request.bytes();
    Arena arena = Arena.ofShared();
    @Nullable MemorySegment segment = null;
    try {
      segment = arena.allocate(bytes, request.alignment());
    } catch (OutOfMemoryError e) {
      throw outOfMemory(bytes, "Java's arenas refused (see -XX:MaxDirectMemorySize)");
    } finally {
      if (segment == null) {
        arena.close();
      }
    }
    return tracked(arena, segment, GrantedMemory.plain(bytes), () -> {});
  }

  /**
   * Returns a block that is counted. If this throws, the arena is closed and nothing is counted.
   */
  private HostBlock tracked(
      Arena arena, MemorySegment segment, GrantedMemory backing, Runnable giveBack) {
    try {
      HostBlock block =
          new HostBlock(true, arena, segment, backing, () -> free(segment, backing, giveBack));
      OwnMemory.add(segment);
      counters.add(backing);
      return block;
    } catch (Throwable e) {
      try {
        OwnMemory.remove(segment);
      } finally {
        arena.close();
      }
      throw e;
    }
  }

  private void free(MemorySegment segment, GrantedMemory backing, Runnable giveBack) {
    try {
      OwnMemory.remove(segment);
    } finally {
      try {
        giveBack.run();
      } finally {
        counters.remove(backing);
      }
    }
  }

  private static OutOfDeviceMemoryException outOfMemory(long bytes, String why) {
    MemoryInfo memory = HostMemory.now();
    return new OutOfDeviceMemoryException(
        "the host has no room for a block of "
            + bytes
            + " bytes: "
            + why
            + "; "
            + memory.freeBytes()
            + " of "
            + memory.totalBytes()
            + " bytes are free. Close buffers, work in smaller chunks, or raise the container's"
            + " limit",
        bytes,
        memory.freeBytes(),
        memory.totalBytes(),
        -1);
  }
}

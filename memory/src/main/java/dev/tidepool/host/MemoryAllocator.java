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
 * Allocates aligned blocks of the host's memory, with undefined contents.
 *
 * {@snippet :
 * MemoryAllocator allocator = new MemoryAllocator();
 * HostBlock block = allocator.allocate(1 << 20);
 * block.segment().fill((byte) 0);
 * block.free();
 * }
 *
 * <p>Blocks below 2 MiB come from the C library's heap. Larger blocks have pages of their own.
 * These are huge pages if the system has them, because the first write to fresh small pages takes
 * four times as long. A {@link HostRequest} can request explicit huge pages and NUMA nodes. Page
 * locking needs a {@link PinnedBudget}. A property that is not available is replaced by the next
 * simpler one and counted. Each block knows the properties that it really has. If the C library
 * cannot be called, blocks come from Java arenas.
 *
 * <p>A block's segment works until the block is freed, and then fails with an {@link
 * IllegalStateException}. Allocating and freeing a block costs 50 to 150 microseconds, mostly for
 * closing the segment for every thread. So keep blocks in a pool. Thread-safe.
 */
public final class MemoryAllocator {
  /** The alignment of small blocks, in bytes: a cache line. */
  public static final long SMALL_ALIGNMENT = 64;

  /** The alignment of blocks from {@link #LARGE_FROM} up, in bytes: a page of most systems. */
  public static final long LARGE_ALIGNMENT = 4096;

  /** The size, in bytes, from which a block has the large alignment. */
  public static final long LARGE_FROM = 64L << 10;

  /** From this size, a request is compared with the free memory before the system is called. */
  private static final long CHECKED_FROM = 64L << 20;

  private final boolean nativeAllocation;
  private final AllocatorCounters counters = new AllocatorCounters();

  /** Creates an allocator. Each allocator counts only its own blocks. */
  public MemoryAllocator() {
    this(LibC.hasAlignedAllocation());
  }

  /** Creates an allocator that may use Java arenas instead of the C library. */
  MemoryAllocator(boolean nativeAllocation) {
    this.nativeAllocation = nativeAllocation;
  }

  /** Returns the alignment that a block of this size has by default. */
  public static long defaultAlignment(long bytes) {
    return bytes >= LARGE_FROM ? LARGE_ALIGNMENT : SMALL_ALIGNMENT;
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
   * Allocates a block. {@link HostBlock#backing()} has the properties that it really has.
   *
   * @throws OutOfDeviceMemoryException if the system has no room, or would certainly have none when
   *     the block is written
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
   * Returns a block whose pages stay in memory, or a plain block if {@link #tryAllocateLocked}
   * returns none.
   *
   * @throws OutOfDeviceMemoryException if the system has no room for a plain block either
   */
  public HostBlock allocateLocked(HostRequest request, PinnedBudget budget) {
    return tryAllocateLocked(request, budget).orElseGet(() -> allocate(request));
  }

  /**
   * Returns a block whose pages stay in memory. Returns empty, and counts a refusal, if the budget
   * or the system refuses, the system has no page locking, or the block is empty. All occupied
   * bytes count against the budget until the block is freed.
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
      // The heap may be full. The caller gets no block.
      block.free();
      throw e;
    }
  }

  private static @Nullable MappedRegion locked(HostRequest request, PinnedBudget budget) {
    long bytes = request.bytes();
    // Without room for the block, the system would not refuse, but kill a process.
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
   * Returns a block over memory of another owner. Freeing the block does not free the memory. The
   * block must not outlive the memory.
   *
   * @param memory writable and native, and accessible to all threads
   * @throws IllegalArgumentException if it is not
   */
  public HostBlock wrap(MemorySegment memory) {
    checkForeign(memory);
    return wrapped(null, memory, () -> {});
  }

  /**
   * Returns a block over memory, which the block then owns.
   *
   * @param memory writable and native, and accessible to all threads. If it has the global scope,
   *     like memory that foreign functions return, the block has a segment of its own, which ends
   *     before the release.
   * @param release returns the memory; run exactly once, when the block is freed. If the segment is
   *     the block's own, it runs after all calls that use the segment have ended. Otherwise, a
   *     release that closes an arena fails during such a call and is not retried. Exceptions are
   *     logged.
   * @throws IllegalArgumentException if the memory is not like that; the caller then still owns it
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

  /** Returns the allocated blocks and the refusals of this allocator. */
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
      // An address with the requested alignment, from which nothing can be read.
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
   * Returns a block over memory that the system has just allocated. If this throws, the memory is
   * returned to the system.
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

  /** Returns a block and counts it. If this throws, the arena is closed and nothing is counted. */
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

package dev.tidepool.host;

import dev.tidepool.MemoryInfo;
import dev.tidepool.OutOfDeviceMemoryException;
import dev.tidepool.spi.Block;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Blocks of the host's memory, aligned, contents undefined.
 *
 * <p>Up to 2 MiB they come from the C library's heap; larger ones are pages mapped for the block
 * alone, huge ones where the system has them, because the first write to fresh small pages takes
 * four times as long. Where the C library cannot be called, blocks come from Java arenas.
 *
 * <p>A block's segment works until the block is freed, and then fails with an {@link
 * IllegalStateException}. Making and freeing a block costs 50 to 150 microseconds, nearly all of it
 * for ending the segment on every thread: keep blocks in a pool. Safe for use by any thread.
 */
public final class MemoryAllocator {
  /** The alignment of small blocks, in bytes: a cache line. */
  public static final long SMALL_ALIGNMENT = 64;

  /** The alignment of blocks from {@link #LARGE_FROM} up, in bytes. */
  public static final long LARGE_ALIGNMENT = 4096;

  /** From how many bytes on a block is aligned to a page. */
  public static final long LARGE_FROM = 64L << 10;

  /** Above this, a request is held against the memory that is free before the system is asked. */
  private static final long CHECKED_FROM = 64L << 20;

  private final boolean nativeAllocation;

  /** An allocator; all of a process share the system's memory. */
  public MemoryAllocator() {
    this(CLibrary.hasAlignedAllocation());
  }

  /** An allocator that may be told to do without the C library. */
  MemoryAllocator(boolean nativeAllocation) {
    this.nativeAllocation = nativeAllocation;
  }

  /** The alignment that a block of this size gets when none is asked for. */
  public static long defaultAlignment(long bytes) {
    return bytes >= LARGE_FROM ? LARGE_ALIGNMENT : SMALL_ALIGNMENT;
  }

  /** A block with the default alignment; see {@link #allocate(long, long)}. */
  public Block allocate(long bytes) {
    return allocate(bytes, defaultAlignment(bytes));
  }

  /**
   * A block.
   *
   * @param bytes at least 1
   * @param alignment a power of two, at least 1
   * @throws OutOfDeviceMemoryException if the system has no room, or certainly will not have it
   *     once the block is written
   */
  public Block allocate(long bytes, long alignment) {
    check(bytes, alignment);
    if (bytes >= CHECKED_FROM) {
      long obtainable = HostMemory.obtainableBytes();
      if (bytes > obtainable) {
        throw outOfMemory(bytes, "so much is not free");
      }
    }
    return nativeAllocation ? ofSystem(bytes, alignment) : ofArena(bytes, alignment);
  }

  /**
   * A block whose pages stay in memory; empty if the budget or the system says no, or the system
   * has no page locking: then take a plain block. Its whole pages count against the budget until it
   * is freed.
   *
   * @param bytes at least 1
   * @param alignment a power of two, at least 1
   */
  public Optional<Block> allocateLocked(long bytes, long alignment, PinnedBudget budget) {
    check(bytes, alignment);
    return nativeAllocation ? lockedOrEmpty(bytes, alignment, budget) : Optional.empty();
  }

  /** Bytes of freed blocks that wait for a native call or an I/O operation to let go of them. */
  public static long busyBytes() {
    return BusyBlocks.bytes();
  }

  static Optional<Block> lockedOrEmpty(long bytes, long alignment, PinnedBudget budget) {
    long page = Pages.BYTES;
    if (!CLibrary.hasLocking() || bytes > Long.MAX_VALUE - page) {
      return Optional.empty();
    }
    long charged = SystemMemory.roundUp(bytes, page);
    if (!budget.reserve(charged)) {
      return Optional.empty();
    }
    SystemMemory memory = null;
    try {
      memory = SystemMemory.wholePages(bytes, alignment, page);
      if (memory != null && CLibrary.lock(memory.address(), charged)) {
        SystemMemory locked = memory;
        return Optional.of(
            block(
                memory,
                bytes,
                () -> {
                  try {
                    if (locked.origin() == SystemMemory.Origin.HEAP) {
                      // A mapping is unlocked by its end; pages of the heap must not stay locked.
                      CLibrary.unlock(locked.address(), charged);
                    }
                    locked.free();
                  } finally {
                    budget.giveBack(charged);
                  }
                }));
      }
    } catch (RuntimeException | Error e) {
      budget.giveBack(charged);
      throw e;
    }
    budget.giveBack(charged);
    if (memory != null) {
      memory.free();
    }
    return Optional.empty();
  }

  private static Block ofSystem(long bytes, long alignment) {
    SystemMemory memory =
        bytes > Long.MAX_VALUE / 2 ? null : SystemMemory.allocate(bytes, alignment);
    if (memory == null) {
      throw outOfMemory(bytes, "the system refused");
    }
    return block(memory, bytes, memory::free);
  }

  private static Block block(SystemMemory memory, long bytes, Runnable giveBack) {
    Arena arena = Arena.ofShared();
    MemorySegment segment =
        MemorySegment.ofAddress(memory.address()).reinterpret(bytes, arena, null);
    return new HostBlock(arena, segment, giveBack);
  }

  private static Block ofArena(long bytes, long alignment) {
    Arena arena = Arena.ofShared();
    @Nullable MemorySegment segment = null;
    try {
      segment = arena.allocate(bytes, alignment);
    } catch (OutOfMemoryError e) {
      throw outOfMemory(bytes, "Java's arenas refused (see -XX:MaxDirectMemorySize)");
    } finally {
      if (segment == null) {
        arena.close();
      }
    }
    return new HostBlock(arena, segment, () -> {});
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

  private static void check(long bytes, long alignment) {
    if (bytes < 1) {
      throw new IllegalArgumentException(
          "a block of " + bytes + " bytes was asked for; it has at least 1");
    }
    if (alignment < 1 || Long.bitCount(alignment) != 1) {
      throw new IllegalArgumentException(
          "an alignment of " + alignment + " bytes was asked for; it is a power of two");
    }
  }
}

package dev.tidepool.pool.block;

import dev.tidepool.AcceleratorException;
import dev.tidepool.OutOfDeviceMemoryException;
import dev.tidepool.spi.Block;
import dev.tidepool.spi.HostAccess;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/** A block without memory, or with a little, that knows its holder. */
final class CountedBlock implements Block {
  /** Where a test's blocks come from, and what became of them. */
  static final class Memory implements MemoryPool.Source {
    final AtomicLong live = new AtomicLong();
    final AtomicLong liveBytes = new AtomicLong();
    final AtomicLong allocations = new AtomicLong();
    volatile long capacity = Long.MAX_VALUE;
    volatile boolean refusesFrees;
    volatile @Nullable Arena arena;

    /** What happens elsewhere when a block is freed. */
    volatile Runnable whenFreed = () -> {};

    /** How the host reaches blocks without memory; mapped ones are not cut. */
    volatile HostAccess access = HostAccess.MAPPED;

    private final Set<Block> held = ConcurrentHashMap.newKeySet();

    /** Says that a test holds a block, or a part of one, now. */
    void hold(Block block) {
      if (!held.add(block) || ((CountedBlock) block.whole()).freed.get()) {
        throw new AssertionError("a block has two leases, or a lease after its end");
      }
    }

    void letGo(Block block) {
      if (!held.remove(block) || ((CountedBlock) block.whole()).freed.get()) {
        throw new AssertionError("a block was freed while it was leased");
      }
    }

    @Override
    public Block allocate(long bytes, long alignment) {
      if (liveBytes.addAndGet(bytes) > capacity) {
        liveBytes.addAndGet(-bytes);
        throw new OutOfDeviceMemoryException("full", bytes, 0, capacity, -1);
      }
      live.incrementAndGet();
      allocations.incrementAndGet();
      return new CountedBlock(this, bytes, alignment);
    }
  }

  final long alignment;
  final AtomicBoolean freed = new AtomicBoolean();
  private final Memory memory;
  private final long bytes;
  private final @Nullable MemorySegment segment;

  private CountedBlock(Memory memory, long bytes, long alignment) {
    this.memory = memory;
    this.bytes = bytes;
    this.alignment = alignment;
    Arena arena = memory.arena;
    this.segment = arena == null ? null : arena.allocate(bytes, 64);
  }

  @Override
  public long byteSize() {
    return bytes;
  }

  @Override
  public HostAccess hostAccess() {
    return segment == null ? memory.access : HostAccess.DIRECT;
  }

  @Override
  public @Nullable MemorySegment segment() {
    return segment;
  }

  @Override
  public void free() {
    if (!freed.compareAndSet(false, true) || memory.held.contains(this)) {
      throw new AssertionError("a block was freed twice, or while it was leased");
    }
    memory.live.decrementAndGet();
    memory.liveBytes.addAndGet(-bytes);
    memory.whenFreed.run();
    if (memory.refusesFrees) {
      throw new AcceleratorException("free", -1, "LOST", "the device is gone");
    }
  }
}

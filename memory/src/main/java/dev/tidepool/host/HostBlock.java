package dev.tidepool.host;

import dev.tidepool.spi.Block;
import dev.tidepool.spi.HostAccess;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A block of host memory, and what it is made of.
 *
 * <p>Ownership: the arena is the block's own and is closed first; then the memory goes back. While
 * a native call or an I/O operation holds the arena open, it cannot be closed and the memory must
 * stay: such a block waits in {@link DeferredFrees}, and is neither freed early nor forgotten.
 */
public final class HostBlock implements Block {
  private static final VarHandle FREED;

  static {
    try {
      FREED = MethodHandles.lookup().findVarHandle(HostBlock.class, "freed", boolean.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private final boolean allocated;
  private final @Nullable Arena arena;
  private final MemorySegment segment;
  private final GrantedMemory backing;
  private final Runnable giveBack;

  @SuppressWarnings("unused") // through FREED
  private volatile boolean freed;

  /** The next block that waits to be given back; guarded by the lock of {@link DeferredFrees}. */
  @Nullable HostBlock nextDeferred;

  /**
   * Creates a block over memory.
   *
   * @param allocated whether the memory is there until this block is freed
   * @param arena the arena of the segment, of this block alone; null if the segment ends with its
   *     owner's memory
   * @param giveBack returns the memory; runs once, after the arena was closed
   */
  HostBlock(
      boolean allocated,
      @Nullable Arena arena,
      MemorySegment segment,
      GrantedMemory backing,
      Runnable giveBack) {
    this.allocated = allocated;
    this.arena = arena;
    this.segment = segment;
    this.backing = backing;
    this.giveBack = giveBack;
  }

  @Override
  public long byteSize() {
    return segment.byteSize();
  }

  @Override
  public HostAccess hostAccess() {
    return HostAccess.DIRECT;
  }

  @Override
  public MemorySegment segment() {
    return segment;
  }

  /**
   * Returns whether the memory was allocated for this block, so that it is there until the block is
   * freed. Memory of others can end before.
   */
  public boolean isAllocated() {
    return allocated;
  }

  /** Returns what the block is made of. */
  public GrantedMemory backing() {
    return backing;
  }

  /**
   * Where its bytes lie now. Reads what the system says of the whole process: some milliseconds.
   *
   * @return empty if the system does not tell of this block alone: it keeps no such books, the
   *     block shares its pages with others, or the block is freed. Blocks of a {@link HostRequest}
   *     with pages or a NUMA policy, and locked ones, have pages of their own
   */
  public Optional<PageResidency> residence() {
    return freed ? Optional.empty() : PageResidency.of(segment.address(), backing.bytes());
  }

  /**
   * Gives the memory back, later if a native call still uses the segment.
   *
   * @throws IllegalStateException if it was freed before
   */
  @Override
  public void free() {
    if (!FREED.compareAndSet(this, false, true)) {
      throw new IllegalStateException(
          "a block of " + byteSize() + " bytes was freed twice; its owner frees it exactly once");
    }
    if (!tryEnd()) {
      DeferredFrees.add(this);
    }
  }

  /**
   * Ends the segment and gives the memory back; false while a call holds the segment open, or there
   * is no heap or stack to end it now.
   */
  boolean tryEnd() {
    if (arena != null) {
      try {
        arena.close();
      } catch (IllegalStateException | VirtualMachineError e) {
        if (segment.scope().isAlive()) {
          return false;
        }
      }
    }
    giveBack.run();
    return true;
  }

  @Override
  public String toString() {
    return "host block of " + byteSize() + " bytes";
  }
}

package dev.tidepool.host;

import dev.tidepool.spi.Block;
import dev.tidepool.spi.HostAccess;
import dev.tidepool.spi.support.FieldHandle;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A block of host memory, and its properties.
 *
 * <p><b>Ownership.</b> The block owns its arena, which is closed before the memory is returned. A
 * native call or an I/O operation can hold the arena open. The block then waits in {@link
 * DeferredFrees}, so that its memory is neither freed early nor lost.
 */
public final class HostBlock implements Block {
  private static final VarHandle FREED =
      FieldHandle.of(MethodHandles.lookup(), "freed", boolean.class);

  private final boolean allocated;
  private final @Nullable Arena arena;
  private final MemorySegment segment;
  private final GrantedMemory backing;
  private final Runnable giveBack;

  @SuppressWarnings("unused") // through FREED
  private volatile boolean freed;

  /** The next block that waits to be freed. Guarded by the lock of {@link DeferredFrees}. */
  @Nullable HostBlock nextDeferred;

  /**
   * Creates a block over memory.
   *
   * @param allocated whether the memory exists until this block is freed
   * @param arena the arena of the segment, which this block alone owns; null if the segment's scope
   *     belongs to another owner
   * @param giveBack returns the memory; run once, after the arena was closed
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
   * Returns whether the memory was allocated for this block, so that it exists until the block is
   * freed. Memory of other owners can end earlier.
   */
  public boolean isAllocated() {
    return allocated;
  }

  /** Returns the properties of the memory. */
  public GrantedMemory backing() {
    return backing;
  }

  /**
   * Returns where the bytes are now. Reads the system's data of the whole process, which takes some
   * milliseconds.
   *
   * @return empty if the system has no data about this block alone: the system keeps none, the
   *     block shares its pages with others, or the block is freed. Blocks of a {@link HostRequest}
   *     with pages or a NUMA policy, and locked blocks, have pages of their own.
   */
  public Optional<PageResidency> residence() {
    return freed ? Optional.empty() : PageResidency.of(segment.address(), backing.bytes());
  }

  /**
   * Returns the memory to the system, later if a native call still uses the segment.
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
   * Closes the segment's arena and returns the memory. Returns false while a call holds the arena
   * open, or if the heap or stack is too small to close it now.
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

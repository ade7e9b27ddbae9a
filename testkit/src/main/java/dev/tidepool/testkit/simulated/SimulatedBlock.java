package dev.tidepool.testkit.simulated;

import dev.tidepool.AcceleratorException;
import dev.tidepool.spi.Block;
import dev.tidepool.spi.BlockKind;
import dev.tidepool.spi.HostAccess;
import dev.tidepool.testkit.SpiCall;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * Memory of a simulated device.
 *
 * <p>A MAPPED block has two memories, the device's and the host's. Acquire copies the device's to
 * the host's. Release copies back and poisons the host's. A host write at any other time is lost
 * and detected, and a host read at any other time returns poison.
 *
 * <p>Locking: the block's monitor guards its state (pending commands, freed, acquired). The running
 * command owns the bytes. The bytes are released when the block is freed and no command uses it any
 * more.
 */
final class SimulatedBlock implements Block {
  /** The contents of new device memory, so that no test passes because of zeros. */
  static final byte FRESH = (byte) 0xA5;

  private static final byte UNACQUIRED = (byte) 0xDB;
  private static final MemorySegment POISON =
      MemorySegment.ofArray(new byte[1 << 16]).fill(UNACQUIRED).asReadOnly();

  private final SimulatedDevice device;
  private final long number;
  private final BlockKind kind;
  private final HostAccess access;
  private final Arena arena;
  // The block whose memory other code handed over as this one; null if the memory is its own.
  private final @Nullable SimulatedBlock owner;
  private final MemorySegment store;
  private final @Nullable MemorySegment host;
  private int pending;
  private boolean freed;
  private boolean acquired;

  SimulatedBlock(
      SimulatedDevice device,
      long number,
      long bytes,
      long alignment,
      BlockKind kind,
      HostAccess access) {
    this.device = device;
    this.number = number;
    this.kind = kind;
    this.access = access;
    this.owner = null;
    arena = Arena.ofShared();
    store = arena.allocate(bytes, alignment).fill(FRESH);
    host =
        switch (access) {
          case NONE -> null;
          case DIRECT -> store;
          case MAPPED -> arena.allocate(bytes, alignment).fill(UNACQUIRED);
        };
  }

  /** Creates a block in memory of another one, for other code; the host cannot access it. */
  SimulatedBlock(SimulatedBlock owner, long number, long start, long bytes) {
    this.device = owner.device;
    this.number = number;
    this.kind = BlockKind.DEVICE;
    this.access = HostAccess.NONE;
    this.arena = Arena.ofShared();
    this.owner = owner;
    this.store = owner.store.asSlice(start, bytes);
    this.host = null;
    owner.begin();
  }

  /** Returns whether the memory was allocated for this block. */
  boolean isOwn() {
    return owner == null;
  }

  @Override
  public long byteSize() {
    return store.byteSize();
  }

  @Override
  public HostAccess hostAccess() {
    return access;
  }

  @Override
  public @Nullable MemorySegment segment() {
    return host;
  }

  SimulatedDevice device() {
    return device;
  }

  BlockKind kind() {
    return kind;
  }

  /** Returns the device's bytes, for the running command. */
  MemorySegment store() {
    return store;
  }

  /** Counts a submitted command that uses the block. */
  synchronized void begin() {
    if (freed) {
      throw device.punished(this + " is used by a command after it was freed");
    }
    pending++;
  }

  /** Ends a command that uses the block. */
  void end() {
    boolean last;
    synchronized (this) {
      pending--;
      last = freed && pending == 0;
    }
    if (last) {
      giveBack();
    }
  }

  /** Checks a command that reads the block, which is legal even while the host has it acquired. */
  void readBy(String command) {
    if (kind == BlockKind.PINNED && !device.sharesMemory()) {
      throw device.punished(command + " uses " + this + ", which commands do not take");
    }
  }

  /** Checks a command that writes the block. */
  void writtenBy(String command) {
    readBy(command);
    boolean held;
    synchronized (this) {
      held = acquired;
    }
    if (held) {
      throw device.punished(command + " writes " + this + " while the host has it acquired");
    }
  }

  /** Runs an acquire. */
  void acquire() {
    synchronized (this) {
      if (access != HostAccess.MAPPED || acquired) {
        throw device.punished(
            this + (acquired ? " is acquired twice" : " is acquired but is not MAPPED"));
      }
      acquired = true;
    }
    checkUntouched("before it was acquired");
    hostBytes().copyFrom(store);
  }

  /** Runs a release. */
  void release() {
    synchronized (this) {
      if (access != HostAccess.MAPPED || !acquired) {
        throw device.punished(this + " is released but was not acquired");
      }
      acquired = false;
    }
    store.copyFrom(hostBytes());
    hostBytes().fill(UNACQUIRED);
  }

  @Override
  public void free() {
    device.ledger().count(SpiCall.FREE);
    boolean now;
    synchronized (this) {
      if (freed) {
        throw device.punished(this + " is freed twice");
      }
      freed = true;
      now = pending == 0;
      if (!now) {
        device.ledger().violation(this + " is freed while " + pending + " commands use it");
      }
    }
    if (now) {
      giveBack();
    }
  }

  private void giveBack() {
    if (access == HostAccess.MAPPED && !acquired) {
      checkUntouched("after it was released");
    }
    device.gone(this);
    if (owner != null) {
      owner.end();
    }
    try {
      arena.close();
    } catch (IllegalStateException e) {
      device.ledger().violation(this + " is freed while the host copies from or to it: " + e);
    }
  }

  private void checkUntouched(String when) {
    MemorySegment bytes = hostBytes();
    for (long at = 0; at < bytes.byteSize(); at += POISON.byteSize()) {
      long end = Math.min(bytes.byteSize(), at + POISON.byteSize());
      long different = MemorySegment.mismatch(bytes, at, end, POISON, 0, end - at);
      if (different >= 0) {
        device
            .ledger()
            .violation("the host wrote to byte " + (at + different) + " of " + this + " " + when);
        return;
      }
    }
  }

  private MemorySegment hostBytes() {
    if (host == null) {
      throw new AcceleratorException(
          "segment", -1, "SIMULATED_NO_HOST_ACCESS", this + " cannot be reached by the host");
    }
    return host;
  }

  @Override
  public String toString() {
    return kind + " block " + number + " of " + byteSize() + " bytes";
  }
}

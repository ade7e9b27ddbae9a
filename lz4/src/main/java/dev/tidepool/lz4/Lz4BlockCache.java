package dev.tidepool.lz4;

import dev.tidepool.spi.support.Uninterruptibly;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import org.jspecify.annotations.Nullable;

/**
 * The decoded blocks of an LZ4 file that are in use or were used lately.
 *
 * <p>A thread that needs a missing block decodes it. If another thread is decoding that block, the
 * thread meanwhile decodes one of the next blocks, because readers go forward. {@link
 * Lz4LinkedBlocks} decodes blocks that depend on earlier ones, one thread at a time.
 *
 * <p>Locking: this object's monitor guards the map, the free memory and the users of a slot. No
 * thread holds the monitor while it reads, decodes or waits for a block. Only the thread that
 * created a slot writes its bytes, before the slot is {@link Slot#ready}.
 */
final class Lz4BlockCache {
  private static final long KEPT_BYTES = 32L << 20;

  private final Lz4Index index;
  private final Lz4LinkedBlocks linked;
  private final int readers = Runtime.getRuntime().availableProcessors();
  private final int kept;

  /** By block, the least recently used first. */
  private final Map<Integer, Slot> slots = new LinkedHashMap<>(16, 0.75f, true);

  private final ArrayDeque<MemorySegment> free = new ArrayDeque<>();

  /** The memory of a block, with its bytes as soon as they are ready. */
  static final class Slot {
    private final int block;
    private final CountDownLatch ready = new CountDownLatch(1);
    private final MemorySegment room;
    private long size;
    private @Nullable Throwable failure;
    private int users;

    Slot(int block, MemorySegment room) {
      this.block = block;
      this.room = room;
    }

    int block() {
      return block;
    }

    /** Returns the decoded bytes; for users of a slot that is ready. */
    MemorySegment bytes() {
      return room.asSlice(0, size);
    }
  }

  Lz4BlockCache(Lz4Index index) {
    this.index = index;
    this.linked = new Lz4LinkedBlocks(index);
    this.kept = (int) Math.max(readers + 2, KEPT_BYTES / Math.max(1, index.largestBlock()));
  }

  /** Returns how many bytes are kept at least. */
  long keptBytes() {
    return (long) kept * index.largestBlock();
  }

  /**
   * Copies bytes of a block, from its byte {@code from} on: as many as the block has and the
   * destination takes. Returns their number.
   */
  long copy(int block, long from, MemorySegment destination) throws IOException {
    Slot slot = hold(block);
    try {
      long count = Math.min(destination.byteSize(), slot.size - from);
      MemorySegment.copy(slot.room, from, destination, 0, count);
      return count;
    } finally {
      release(slot);
    }
  }

  /** Returns a block's slot, ready and kept until it is released. */
  Slot hold(int block) throws IOException {
    Slot slot;
    boolean mine = false;
    synchronized (this) {
      slot = slots.get(block);
      if (slot == null) {
        slot = add(block);
        mine = true;
      }
      slot.users++;
    }
    if (mine) {
      fill(slot);
    } else if (slot.ready.getCount() > 0) {
      decodeAhead(block);
      Uninterruptibly.await(slot.ready::await);
    }
    Throwable failure = slot.failure;
    if (failure != null) {
      release(slot);
      throw failed(failure);
    }
    return slot;
  }

  /** Returns a block's slot if it is ready, kept until it is released. */
  synchronized @Nullable Slot holdIfReady(int block) {
    Slot slot = slots.get(block);
    if (slot == null || slot.ready.getCount() > 0 || slot.failure != null) {
      return null;
    }
    slot.users++;
    return slot;
  }

  void release(Slot slot) {
    synchronized (this) {
      slot.users--;
      Iterator<Slot> eldest = slots.values().iterator();
      while (slots.size() > kept && eldest.hasNext()) {
        Slot old = eldest.next();
        if (old.users == 0 && old.ready.getCount() == 0) {
          eldest.remove();
          free.push(old.room);
        }
      }
    }
  }

  private Slot add(int block) {
    MemorySegment room = free.poll();
    // Garbage-collected memory: a reader that runs while the file is closed can still use it.
    Slot slot =
        new Slot(block, room == null ? Arena.ofAuto().allocate(index.largestBlock(), 64) : room);
    slots.put(block, slot);
    return slot;
  }

  /**
   * Decodes the first independent block after {@code block} that no thread has begun, if it is
   * near.
   */
  private void decodeAhead(int block) {
    Slot ahead = null;
    synchronized (this) {
      int end = Math.min(index.blocks(), block + 1 + readers);
      for (int next = block + 1; next < end && ahead == null; next++) {
        if (!slots.containsKey(next) && index.frame(next).header().independent()) {
          ahead = add(next);
          ahead.users++;
        }
      }
    }
    if (ahead != null) {
      fill(ahead);
      release(ahead);
    }
  }

  /** Decodes a block into a slot that this thread created. A failure is kept in the slot. */
  private void fill(Slot slot) {
    try {
      slot.size =
          index.frame(slot.block).header().independent()
              ? decode(slot.block, slot.room)
              : linked.decode(slot.block, slot.room);
      index.learn(slot.block, slot.size);
    } catch (IOException | RuntimeException | Error e) {
      slot.failure = e;
      forget(slot);
    } finally {
      slot.ready.countDown();
    }
  }

  private synchronized void forget(Slot slot) {
    slots.remove(slot.block, slot);
  }

  private long decode(int block, MemorySegment room) throws IOException {
    MemorySegment scratch = scratch();
    try {
      if (index.isStored(block)) {
        return index.read(block, room).byteSize();
      }
      MemorySegment compressed = index.read(block, scratch);
      return Lz4Block.decode(compressed, room.asSlice(0, index.frame(block).header().blockBytes()));
    } catch (Lz4FormatException e) {
      throw Lz4Index.damaged(block, e);
    } finally {
      giveBack(scratch);
    }
  }

  private synchronized MemorySegment scratch() {
    MemorySegment room = free.poll();
    return room == null ? Arena.ofAuto().allocate(index.largestBlock(), 64) : room;
  }

  private synchronized void giveBack(MemorySegment scratch) {
    free.push(scratch);
  }

  /** Returns a failure that several threads share as a new exception for this thread. */
  private static IOException failed(Throwable failure) {
    return switch (failure) {
      case Lz4FormatException e -> throw new Lz4FormatException(String.valueOf(e.getMessage()), e);
      case RuntimeException e -> throw e;
      case Error e -> throw e;
      case IOException e -> e;
      default -> throw new AssertionError(failure);
    };
  }
}

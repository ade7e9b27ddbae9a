package dev.tidepool.link;

import dev.tidepool.pool.block.Lease;
import dev.tidepool.spi.Block;
import dev.tidepool.spi.Piece;
import dev.tidepool.spi.Queue;
import dev.tidepool.transfer.TransferWay;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

/**
 * Moves several small transfers in one direction together. A single transfer is moved by {@link
 * DeviceLink} alone.
 *
 * <p>For an upload, the host gathers the bytes in a staging block, and one command scatters them
 * from there. For a download, one command gathers them in the block. If the device cannot do this,
 * or it is not cheaper, each transfer has a command of its own, submitted as soon as its bytes are
 * available; the thread waits only when a block is full. Two staging blocks alternate: the host
 * fills or empties one while the device uses the other. Blocks a platform thread. Thread-safe.
 */
public final class CoalescedCopy {
  /** The alignment for fast copies on a device, at both ends of a {@link Piece}. */
  private static final long WORD = 16;

  private final DeviceLink link;

  /**
   * One transfer.
   *
   * @param bytes the bytes on the host
   * @param block the block of the device
   * @param offset the start in the block
   */
  public record Move(HostRegion bytes, Block block, long offset) {}

  CoalescedCopy(DeviceLink link) {
    this.link = link;
  }

  /**
   * Moves transfers, which do not overlap, to the device. Returns after all have arrived. When this
   * throws, no command is in progress, and each transfer may have arrived completely or in part.
   *
   * @return the path that they took
   * @throws dev.tidepool.AcceleratorException if the driver refuses a command
   */
  public TransferWay upload(List<Move> moves) {
    return move(HostCopy.UPLOAD, moves);
  }

  /**
   * Like {@link #upload}, but from the device.
   *
   * @throws dev.tidepool.AcceleratorException if the driver refuses a command
   */
  public TransferWay download(List<Move> moves) {
    return move(HostCopy.DOWNLOAD, moves);
  }

  private TransferWay move(HostCopy copy, List<Move> moves) {
    if (moves.size() == 1) {
      return alone(copy, moves.getFirst());
    }
    boolean atOnce = link.scatters(moves.size(), bytesOf(moves));
    return !atOnce && moves.stream().allMatch(move -> link.isDirect(move.bytes(), copy))
        ? separately(copy, moves)
        : staged(copy, moves, atOnce);
  }

  private TransferWay alone(HostCopy copy, Move move) {
    return link.move(copy, move.bytes(), move.block(), move.offset());
  }

  private static long bytesOf(List<Move> moves) {
    long bytes = 0;
    for (Move move : moves) {
      bytes += move.bytes().byteSize();
    }
    return bytes;
  }

  /** Moves each transfer with one command, directly from or to its memory. */
  private TransferWay separately(HostCopy copy, List<Move> moves) {
    TransferContext context = TransferContext.current();
    Queue queue = link.queue(copy).queueFor(context);
    TransferWay way = TransferWay.PINNED_DIRECT;
    try (PendingCommands pending = new PendingCommands(moves.size());
        PriorityGate.Passage passage = link.queue(copy).gate().enter(context)) {
      for (Move move : moves) {
        if (!(move.bytes() instanceof HostRegion.Segment(MemorySegment segment, _))) {
          throw new IllegalArgumentException(move.bytes() + " is no segment");
        }
        way = link.isPinned(segment) ? way : TransferWay.PLAIN_DIRECT;
        Block block = move.block();
        passage.chunk(segment.byteSize());
        pending.makeRoom();
        pending.add(copy.submit(queue, segment, block.whole(), block.start() + move.offset()));
      }
      pending.finishAll();
    }
    return way;
  }

  private TransferWay staged(HostCopy copy, List<Move> moves, boolean atOnce) {
    TransferContext context = TransferContext.current();
    Queue queue = link.queue(copy).queueFor(context);
    long needed = bytesOf(moves) + moves.size() * WORD; // with their alignment
    long room = Math.min(link.chunk(), needed);
    List<Move> small = new ArrayList<>();
    for (Move move : moves) {
      if (move.bytes().byteSize() + WORD <= room) {
        small.add(move);
      } else {
        alone(copy, move); // Too long for a staging block.
      }
    }
    // Enter the gate only with the blocks: a thread that frees memory for a block may need to enter
    // it.
    try (Batch first = new Batch(copy, room, queue, atOnce);
        Batch second = needed > room ? new Batch(copy, room, queue, atOnce) : first;
        PriorityGate.Passage passage = link.queue(copy).gate().enter(context)) {
      Batch filling = first;
      Batch submitted = second;
      for (Move move : small) {
        if (!filling.takes(move)) {
          filling.send(passage);
          Batch sent = filling;
          filling = submitted;
          submitted = sent;
          filling.arrive();
        }
        filling.add(move);
        if (!filling.atOnce) {
          // The device copies this one while the host fills the next.
          filling.send(passage);
        }
      }
      filling.send(passage);
      first.arrive();
      second.arrive();
      return first.isPinned() ? TransferWay.STAGED_PINNED : TransferWay.STAGED_PLAIN;
    }
  }

  /** A staging block, the moves in it, and the commands that use it. Not thread-safe. */
  private final class Batch implements AutoCloseable {
    /** Bytes of the host and their range in the block. */
    private record Staged(HostRegion bytes, MemorySegment place) {}

    private final HostCopy copy;
    private final Queue queue;
    private final boolean atOnce;
    private final Lease lease;
    private final MemorySegment segment;
    private final List<Piece> pieces = new ArrayList<>();
    private final List<Staged> contents = new ArrayList<>();
    private final PendingCommands pending = new PendingCommands(1);
    private long used;
    private boolean closed;

    Batch(HostCopy copy, long room, Queue queue, boolean atOnce) {
      this.copy = copy;
      this.queue = queue;
      this.atOnce = atOnce;
      lease = link.lease(Math.max(1, room));
      segment = segmentOf(lease, Math.max(1, room));
    }

    private static MemorySegment segmentOf(Lease leased, long bytes) {
      try {
        return leased.segment().asSlice(0, bytes);
      } catch (Throwable e) {
        // The heap may be full.
        leased.release();
        throw e;
      }
    }

    boolean isPinned() {
      return link.isPinned(segment);
    }

    boolean takes(Move move) {
      return placeOf(move) + move.bytes().byteSize() <= segment.byteSize();
    }

    /** Returns the start of the bytes in the block, with the same alignment as on the device. */
    private long placeOf(Move move) {
      return used + Math.floorMod(move.block().start() + move.offset() - used, WORD);
    }

    void add(Move move) {
      Block block = move.block();
      long offset = block.start() + move.offset();
      long bytes = move.bytes().byteSize();
      long from = placeOf(move);
      Staged staged = new Staged(move.bytes(), segment.asSlice(from, bytes));
      copy.fill(staged.bytes(), 0, staged.place());
      contents.add(staged);
      pieces.add(new Piece(from, block.whole(), offset, bytes));
      used = from + bytes;
    }

    void send(PriorityGate.Passage passage) {
      if (pieces.isEmpty()) {
        return;
      }
      passage.chunk(pieces.stream().mapToLong(Piece::bytes).sum());
      if (atOnce) {
        pending.makeRoom();
        pending.add(copy.submitAll(queue, segment.asSlice(0, used), List.copyOf(pieces)));
      } else {
        for (Piece piece : pieces) {
          pending.makeRoom();
          MemorySegment staged = segment.asSlice(piece.from(), piece.bytes());
          pending.add(copy.submit(queue, staged, piece.block(), piece.offset()));
        }
      }
      pieces.clear();
    }

    /** Waits for the submitted commands and empties the block. */
    void arrive() {
      pending.finishAll();
      contents.forEach(staged -> copy.empty(staged.bytes(), 0, staged.place()));
      contents.clear();
      used = 0;
    }

    /** Does nothing if closed: {@link #staged} may hold one batch in two variables. */
    @Override
    public void close() {
      if (!closed) {
        closed = true;
        pending.close();
        lease.release();
      }
    }
  }
}

package dev.tidepool.link;

import dev.tidepool.pool.block.Lease;
import dev.tidepool.spi.Block;
import dev.tidepool.spi.Event;
import dev.tidepool.spi.Piece;
import dev.tidepool.spi.Queue;
import dev.tidepool.transfer.TransferWay;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/**
 * Many small transfers in one direction at once.
 *
 * <p>On their way to the device the bytes are gathered in a staging block and scattered from there
 * by one command; on their way back one command gathers them there. Where the device cannot do
 * that, or it is not cheaper, each has a command of its own, submitted as soon as its bytes are
 * there, and nothing is waited for before a block is full. Two staging blocks take turns, so that
 * the host fills or empties one while the device is at the other. Blocks a platform thread. Safe
 * for use by any thread.
 */
public final class CoalescedCopy {
  /** What {@link Piece}s that travel fast have in common, at both ends. */
  private static final long WORD = 16;

  private final DeviceLink link;

  /**
   * One transfer.
   *
   * @param bytes on the host
   * @param block the block that they go to or come from
   * @param offset the byte of it that they begin at
   */
  public record Move(HostRegion bytes, Block block, long offset) {}

  CoalescedCopy(DeviceLink link) {
    this.link = link;
  }

  /**
   * Moves all of them, which do not overlap, to the device; returns when all have arrived, and
   * answers the way that they went. When it throws, nothing is under way any more, and any of them
   * may have arrived, or a part of it.
   *
   * @throws dev.tidepool.AcceleratorException if the driver refuses any
   */
  public TransferWay upload(List<Move> moves) {
    Queue queue = link.uploadQueue();
    boolean atOnce = link.scatters(moves.size(), bytesOf(moves));
    if (!atOnce && moves.stream().allMatch(move -> link.isDirect(move.bytes(), true))) {
      return separately(moves, link.uploads(), queue::write);
    }
    return staged(
        moves,
        link.uploads(),
        move -> link.upload(move.bytes(), move.block(), move.offset()),
        room -> new Outgoing(room, queue, atOnce));
  }

  /**
   * Like {@link #upload}, but from the device.
   *
   * @throws dev.tidepool.AcceleratorException if the driver refuses any
   */
  public TransferWay download(List<Move> moves) {
    Queue queue = link.downloadQueue();
    boolean atOnce = link.scatters(moves.size(), bytesOf(moves));
    if (!atOnce && moves.stream().allMatch(move -> link.isDirect(move.bytes(), false))) {
      return separately(
          moves, link.downloads(), (segment, block, offset) -> queue.read(block, offset, segment));
    }
    return staged(
        moves,
        link.downloads(),
        move -> link.download(move.block(), move.offset(), move.bytes()),
        room -> new Incoming(room, queue, atOnce));
  }

  private static long bytesOf(List<Move> moves) {
    long bytes = 0;
    for (Move move : moves) {
      bytes += move.bytes().byteSize();
    }
    return bytes;
  }

  /** Submits the command that moves one segment to a block or from it. */
  private interface Command {
    Event submit(MemorySegment host, Block block, long offset);
  }

  /** One command each, from where the bytes lie or to there. */
  private TransferWay separately(List<Move> moves, PriorityGate gate, Command command) {
    TransferWay way = TransferWay.PINNED_DIRECT;
    try (PendingCommands pending = new PendingCommands(moves.size());
        PriorityGate.Turn turn = gate.enter(TransferContext.current())) {
      for (Move move : moves) {
        if (!(move.bytes() instanceof HostRegion.Segment(MemorySegment segment, _))) {
          throw new IllegalArgumentException(move.bytes() + " is no segment");
        }
        way = link.isPinned(segment) ? way : TransferWay.PLAIN_DIRECT;
        Block block = move.block();
        turn.chunk(segment.byteSize());
        pending.makeRoom();
        pending.add(command.submit(segment, block.whole(), block.start() + move.offset()));
      }
      pending.finishAll();
    }
    return way;
  }

  /** What is too long for a staging block goes by itself. */
  private interface Alone {
    void move(Move move);
  }

  private interface Loads {
    Load ofRoom(long bytes);
  }

  private TransferWay staged(List<Move> moves, PriorityGate gate, Alone alone, Loads loads) {
    long needed = bytesOf(moves) + moves.size() * WORD; // with what aligns them
    long room = Math.min(link.chunk(), needed);
    List<Move> small = new ArrayList<>();
    for (Move move : moves) {
      if (move.bytes().byteSize() + WORD <= room) {
        small.add(move);
      } else {
        alone.move(move);
      }
    }
    // Enter the gate only with the blocks: a thread that frees memory for a block may have to pass
    // it.
    try (Load first = loads.ofRoom(room);
        Load second = needed > room ? loads.ofRoom(room) : first;
        PriorityGate.Turn turn = gate.enter(TransferContext.current())) {
      Load filling = first;
      Load travelling = second;
      for (Move move : small) {
        if (!filling.takes(move)) {
          filling.send(turn);
          Load sent = filling;
          filling = travelling;
          travelling = sent;
          filling.arrive();
        }
        filling.add(move);
        if (!filling.atOnce) {
          // On its way while the host sees to the next.
          filling.send(turn);
        }
      }
      filling.send(turn);
      first.arrive();
      second.arrive();
      return first.isPinned() ? TransferWay.STAGED_PINNED : TransferWay.STAGED_PLAIN;
    }
  }

  /** A staging block, what it is for, and the commands that use it; for one thread. */
  private abstract class Load implements AutoCloseable {
    final Queue queue;
    private final boolean atOnce;
    private final Lease lease;
    private final MemorySegment segment;
    private final List<Piece> pieces = new ArrayList<>();
    private final PendingCommands pending = new PendingCommands(1);
    private long used;
    private boolean closed;

    Load(long room, Queue queue, boolean atOnce) {
      this.queue = queue;
      this.atOnce = atOnce;
      lease = link.lease(Math.max(1, room));
      segment =
          Objects.requireNonNull(lease.block().segment(), "staging has a segment")
              .asSlice(0, Math.max(1, room));
    }

    boolean isPinned() {
      return link.isPinned(segment);
    }

    boolean takes(Move move) {
      return placeOf(move) + move.bytes().byteSize() <= segment.byteSize();
    }

    /** Where its bytes begin in the block: as far from a word's begin as on the device. */
    private long placeOf(Move move) {
      return used + Math.floorMod(move.block().start() + move.offset() - used, WORD);
    }

    void add(Move move) {
      Block block = move.block();
      long offset = block.start() + move.offset();
      long bytes = move.bytes().byteSize();
      long from = placeOf(move);
      added(move.bytes(), segment.asSlice(from, bytes));
      pieces.add(new Piece(from, block.whole(), offset, bytes));
      used = from + bytes;
    }

    void send(PriorityGate.Turn turn) {
      if (pieces.isEmpty()) {
        return;
      }
      turn.chunk(pieces.stream().mapToLong(Piece::bytes).sum());
      if (atOnce) {
        pending.makeRoom();
        pending.add(together(segment.asSlice(0, used), List.copyOf(pieces)));
      } else {
        for (Piece piece : pieces) {
          pending.makeRoom();
          pending.add(alone(segment.asSlice(piece.from(), piece.bytes()), piece));
        }
      }
      pieces.clear();
    }

    /** Waits for what was sent; then the block is empty. */
    void arrive() {
      pending.finishAll();
      used = 0;
    }

    /** A place in the block is some bytes' now. */
    abstract void added(HostRegion bytes, MemorySegment staged);

    /** One command for all pieces. */
    abstract Event together(MemorySegment staged, List<Piece> pieces);

    /** A command for one, on the staged bytes that are its own. */
    abstract Event alone(MemorySegment staged, Piece piece);

    /** Two names may close the same load. */
    @Override
    public void close() {
      if (!closed) {
        closed = true;
        pending.close();
        lease.release();
      }
    }
  }

  /** To the device: the host fills the block first. */
  private final class Outgoing extends Load {
    Outgoing(long room, Queue queue, boolean atOnce) {
      super(room, queue, atOnce);
    }

    @Override
    void added(HostRegion bytes, MemorySegment staged) {
      bytes.stage(0, staged);
    }

    @Override
    Event together(MemorySegment staged, List<Piece> pieces) {
      return queue.scatter(staged, pieces);
    }

    @Override
    Event alone(MemorySegment staged, Piece piece) {
      return queue.write(staged, piece.block(), piece.offset());
    }
  }

  /** From the device: the host empties the block last. */
  private final class Incoming extends Load {
    private record Arrival(HostRegion bytes, MemorySegment staged) {}

    private final List<Arrival> arrivals = new ArrayList<>();

    Incoming(long room, Queue queue, boolean atOnce) {
      super(room, queue, atOnce);
    }

    @Override
    void added(HostRegion bytes, MemorySegment staged) {
      arrivals.add(new Arrival(bytes, staged));
    }

    @Override
    Event together(MemorySegment staged, List<Piece> pieces) {
      return queue.gather(pieces, staged);
    }

    @Override
    Event alone(MemorySegment staged, Piece piece) {
      return queue.read(piece.block(), piece.offset(), staged);
    }

    @Override
    void arrive() {
      super.arrive();
      arrivals.forEach(arrival -> arrival.bytes().copyFrom(arrival.staged(), 0));
      arrivals.clear();
    }
  }
}

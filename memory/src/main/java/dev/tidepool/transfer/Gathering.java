package dev.tidepool.transfer;

import dev.tidepool.TransferWay;
import dev.tidepool.pool.Lease;
import dev.tidepool.spi.Block;
import dev.tidepool.spi.Event;
import dev.tidepool.spi.Piece;
import dev.tidepool.spi.Queue;
import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Objects;

/**
 * Many small transfers to one device at once.
 *
 * <p>The bytes are gathered in a staging block and scattered from there by one command, where the
 * device can do that and it is cheaper; else each has a command of its own, and all are submitted
 * before any is waited for. Two staging blocks take turns, so that the host fills one while the
 * device scatters the other. Blocks a platform thread. Safe for use by any thread.
 */
public final class Gathering {
  /** What {@link Piece}s that travel fast have in common, at both ends. */
  private static final long WORD = 16;

  private final DeviceLink link;
  private final Queue queue;
  private final Gate gate;

  /**
   * One transfer.
   *
   * @param source the bytes
   * @param destination the block that they go to
   * @param offset the byte of it that they begin at
   */
  public record Move(HostBytes source, Block destination, long offset) {}

  Gathering(DeviceLink link, Queue queue, Gate gate) {
    this.link = link;
    this.queue = queue;
    this.gate = gate;
  }

  /**
   * Moves all of them, which do not overlap; returns when all have arrived, and answers the way
   * that they went. When it throws, nothing is under way any more, and any of them may have
   * arrived, or a part of it.
   *
   * @throws dev.tidepool.AcceleratorException if the driver refuses any
   */
  public TransferWay upload(List<Move> moves) {
    long bytes = moves.stream().mapToLong(move -> move.source().byteSize()).sum();
    if (link.scatters(moves.size(), bytes)) {
      return gathered(moves, true);
    }
    boolean direct = moves.stream().allMatch(move -> link.isDirect(move.source()));
    return direct ? separately(moves) : gathered(moves, false);
  }

  /** One command each, from where the bytes lie. */
  private TransferWay separately(List<Move> moves) {
    Deque<Event> events = new ArrayDeque<>(moves.size());
    TransferWay way = TransferWay.PINNED_DIRECT;
    try (Gate.Turn turn = gate.enter(Passage.current())) {
      for (Move move : moves) {
        if (!(move.source() instanceof HostBytes.Segment(MemorySegment segment, _))) {
          throw new IllegalArgumentException(move.source() + " is no segment");
        }
        way = link.isPinned(segment) ? way : TransferWay.PLAIN_DIRECT;
        Block block = move.destination();
        turn.chunk(segment.byteSize());
        events.add(queue.write(segment, block.whole(), block.start() + move.offset()));
      }
      while (!events.isEmpty()) {
        DeviceLink.finish(events.removeFirst());
      }
    } finally {
      events.forEach(DeviceLink::finishQuietly);
    }
    return way;
  }

  private TransferWay gathered(List<Move> moves, boolean atOnce) {
    long needed = roomOf(moves);
    long room = Math.min(link.chunk(), needed);
    List<Move> small = new ArrayList<>();
    for (Move move : moves) {
      if (move.source().byteSize() + WORD <= room) {
        small.add(move);
      } else {
        link.upload(move.source(), move.destination(), move.offset());
      }
    }
    // At the gate only with the blocks, for who makes room for one may have to pass it.
    try (Load first = new Load(room, atOnce);
        Load second = needed > room ? new Load(room, atOnce) : first;
        Gate.Turn turn = gate.enter(Passage.current())) {
      Load filling = first;
      for (Move move : small) {
        if (!filling.takes(move)) {
          filling.send(turn);
          filling = filling == first ? second : first;
          filling.arrive();
        }
        filling.add(move);
      }
      filling.send(turn);
      first.arrive();
      second.arrive();
      return first.isPinned() ? TransferWay.STAGED_PINNED : TransferWay.STAGED_PLAIN;
    }
  }

  /** Bytes that all of them take at most, with what aligns them. */
  private static long roomOf(List<Move> moves) {
    return moves.stream().mapToLong(move -> move.source().byteSize() + WORD).sum();
  }

  /** A staging block, what is in it, and the commands that take that away; for one thread. */
  private final class Load implements AutoCloseable {
    private final boolean atOnce;
    private final Lease lease;
    private final MemorySegment segment;
    private final List<Piece> pieces = new ArrayList<>();
    private final Deque<Event> pending = new ArrayDeque<>();
    private long used;
    private boolean closed;

    Load(long room, boolean atOnce) {
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
      return used + WORD + move.source().byteSize() <= segment.byteSize();
    }

    void add(Move move) {
      Block block = move.destination();
      long offset = block.start() + move.offset();
      long bytes = move.source().byteSize();
      long from = used + Math.floorMod(offset - used, WORD);
      move.source().copyTo(0, segment.asSlice(from, bytes));
      pieces.add(new Piece(from, block.whole(), offset, bytes));
      used = from + bytes;
    }

    void send(Gate.Turn turn) {
      if (pieces.isEmpty()) {
        return;
      }
      turn.chunk(pieces.stream().mapToLong(Piece::bytes).sum());
      if (atOnce) {
        pending.add(queue.scatter(segment.asSlice(0, used), List.copyOf(pieces)));
      } else {
        for (Piece piece : pieces) {
          MemorySegment part = segment.asSlice(piece.from(), piece.bytes());
          pending.add(queue.write(part, piece.destination(), piece.offset()));
        }
      }
      pieces.clear();
      used = 0;
    }

    void arrive() {
      while (!pending.isEmpty()) {
        DeviceLink.finish(pending.removeFirst());
      }
    }

    /** Two names may close the same load. */
    @Override
    public void close() {
      if (!closed) {
        closed = true;
        pending.forEach(DeviceLink::finishQuietly);
        lease.release();
      }
    }
  }
}

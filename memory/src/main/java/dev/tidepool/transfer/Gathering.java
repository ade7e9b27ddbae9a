package dev.tidepool.transfer;

import dev.tidepool.pool.Lease;
import dev.tidepool.spi.Block;
import dev.tidepool.spi.Event;
import dev.tidepool.spi.Queue;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.function.LongFunction;

/**
 * Moves many small pieces of the host's memory to places on one device: gathered in one staging
 * block, and all submitted before the first is waited for.
 */
public final class Gathering {
  /**
   * One piece.
   *
   * @param source the bytes
   * @param destination the block that they go to
   * @param offset the byte of it that they begin at
   */
  public record Move(HostBytes source, Block destination, long offset) {}

  private final Queue queue;
  private final Gate gate;
  private final LongFunction<Lease> staging;

  Gathering(Queue queue, Gate gate, LongFunction<Lease> staging) {
    this.queue = queue;
    this.gate = gate;
    this.staging = staging;
  }

  /**
   * Moves all pieces, which overlap nowhere, and waits for them.
   *
   * @throws dev.tidepool.AcceleratorException if one did not arrive; which ones did is unknown then
   */
  public void upload(List<Move> moves) {
    long bytes = moves.stream().mapToLong(move -> move.source().byteSize()).sum();
    Lease lease = staging.apply(Math.max(1, bytes));
    List<Event> events = new ArrayList<>(moves.size());
    try (Gate.Turn turn = gate.enter(Passage.current())) {
      MemorySegment block = Objects.requireNonNull(lease.block().segment(), "staging");
      turn.chunk(bytes);
      long at = 0;
      for (Move move : moves) {
        MemorySegment part = block.asSlice(at, move.source().byteSize());
        move.source().copyTo(0, part);
        Block target = move.destination();
        events.add(queue.write(part, target.whole(), target.start() + move.offset()));
        at += part.byteSize();
      }
      // The last one ends last.
      for (Event event : events.reversed()) {
        event.await();
      }
    } finally {
      for (Event event : events) {
        DeviceLink.finishQuietly(event);
      }
      lease.release();
    }
  }
}

package dev.tidepool.link;

import dev.tidepool.transfer.TransferPriority;
import java.util.function.LongConsumer;
import java.util.function.Supplier;

/**
 * The options of one transfer over links. Bound to the thread that moves the bytes while it moves
 * them. If none is bound, {@link #ORDINARY} applies.
 *
 * @param priority decides which transfer is first between chunks
 * @param chunk bytes of one chunk; 0 lets the link choose
 * @param pinned whether page-locked memory may be used, for staging or directly
 * @param pipelined whether a chunk may begin before the previous one has arrived
 * @param submitted receives the bytes of each chunk before the chunk is submitted, on the thread
 *     that performs the transfer; must not wait
 */
public record TransferContext(
    TransferPriority priority,
    long chunk,
    boolean pinned,
    boolean pipelined,
    LongConsumer submitted) {
  /** The context of a transfer without options. */
  public static final TransferContext ORDINARY =
      new TransferContext(TransferPriority.NORMAL, 0, true, true, _ -> {});

  private static final ScopedValue<TransferContext> CURRENT = ScopedValue.newInstance();

  public static TransferContext current() {
    return CURRENT.orElse(ORDINARY);
  }

  /**
   * Runs a movement of bytes that are not the transfer's own but must be moved first: their move
   * frees memory for the transfer, or they are copied together with it. Their chunks are not
   * reported.
   */
  public static <T> T aside(Supplier<T> movement) {
    TransferContext of = current();
    LongConsumer none = ORDINARY.submitted;
    if (of.submitted.equals(none)) {
      return movement.get();
    }
    return ScopedValue.where(CURRENT, of.reportingTo(none)).call(movement::get);
  }

  public void run(Runnable transfer) {
    ScopedValue.where(CURRENT, this).run(transfer);
  }

  /** Returns a copy that reports its chunks to another listener. */
  TransferContext reportingTo(LongConsumer listener) {
    return new TransferContext(priority, chunk, pinned, pipelined, listener);
  }

  /** Returns the bytes of one chunk: the requested size, or {@code best} if none is requested. */
  public long chunkOr(long best) {
    return chunk == 0 ? best : chunk;
  }
}

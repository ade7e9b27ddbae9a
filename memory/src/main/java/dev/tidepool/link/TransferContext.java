package dev.tidepool.link;

import dev.tidepool.transfer.TransferPriority;
import java.util.Objects;
import java.util.function.LongConsumer;
import java.util.function.Supplier;

/**
 * How one transfer wants to go over links. Bound to the thread that moves its bytes, for as long as
 * it does; {@link #ORDINARY} where none is bound.
 *
 * @param priority which transfer goes first between chunks
 * @param chunk bytes of one chunk; 0 for what the link finds best
 * @param pinned whether bytes may go through, or straight from, page-locked memory
 * @param pipelined whether a chunk may begin before the one before it has arrived
 * @param submitted is told the bytes of each chunk before it is handed to the device, on the thread
 *     that performs the transfer; must not wait
 */
public record TransferContext(
    TransferPriority priority,
    long chunk,
    boolean pinned,
    boolean pipelined,
    LongConsumer submitted) {
  /** The context of a transfer that asks for nothing. */
  public static final TransferContext ORDINARY =
      new TransferContext(TransferPriority.NORMAL, 0, true, true, _ -> {});

  private static final ScopedValue<TransferContext> CURRENT = ScopedValue.newInstance();

  /** Checks the ranges. */
  public TransferContext {
    Objects.requireNonNull(priority, "priority");
    Objects.requireNonNull(submitted, "submitted");
    if (chunk < 0) {
      throw new IllegalArgumentException("a chunk of " + chunk + " bytes; give 0 or more");
    }
  }

  public static TransferContext current() {
    return CURRENT.orElse(ORDINARY);
  }

  /**
   * Moves what is not of the transfer's own bytes, but must move first: bytes whose move frees
   * memory for them, or that become one copy with them. Its chunks are not reported.
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

  /** Returns this, but that its chunks are reported to another. */
  TransferContext reportingTo(LongConsumer listener) {
    return new TransferContext(priority, chunk, pinned, pipelined, listener);
  }

  /** Bytes of one chunk, where the link finds {@code best} best. */
  public long chunkOr(long best) {
    return chunk == 0 ? best : chunk;
  }
}

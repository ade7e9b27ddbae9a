package dev.tidepool.stream.reduction;

import dev.tidepool.expression.syntax.ScalarType;
import java.lang.foreign.MemorySegment;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Takes elements in their order, whatever the order in which ranges come: one thread at a time
 * takes them, and copies of ranges wait for those before them.
 *
 * <p>Threads that are far ahead wait a moment for the others, so that few copies are kept. They do
 * not wait for long: the thread whose range is missing may have failed.
 */
public abstract class OrderedConsumer implements RangeConsumer {
  private static final long MOST_WAITING_BYTES = 32L << 20;
  private static final long PATIENCE_MILLIS = 100;

  /** Elements that came early, with whether they are selected. */
  private static final class Early {
    final MemorySegment elements;
    final byte @Nullable [] truths;

    Early(MemorySegment elements, byte @Nullable [] truths) {
      this.elements = elements;
      this.truths = truths;
    }
  }

  final ScalarType type;
  private final @Nullable Mask mask;
  private final Map<Long, Early> waiting = new HashMap<>();
  private long waitingBytes;
  private long next;

  OrderedConsumer(ScalarType type, @Nullable Mask mask) {
    this.type = type;
    this.mask = mask;
  }

  /**
   * Takes the next elements.
   *
   * @param truths which of them are selected; null if all are
   */
  abstract void take(MemorySegment elements, byte @Nullable [] truths);

  /** All elements came. */
  public abstract void finish();

  @Override
  public synchronized void write(long elementOffset, MemorySegment source) {
    byte[] truths = mask == null ? null : mask.from(elementOffset);
    if (elementOffset != next) {
      awaitOthers(elementOffset);
    }
    if (elementOffset != next) {
      MemorySegment copy = MemorySegment.ofArray(new byte[Math.toIntExact(source.byteSize())]);
      waiting.put(elementOffset, new Early(copy.copyFrom(source), truths));
      waitingBytes += copy.byteSize();
      return;
    }
    advance(source, truths);
    for (Early early = waiting.remove(next); early != null; early = waiting.remove(next)) {
      waitingBytes -= early.elements.byteSize();
      advance(early.elements, early.truths);
    }
    notifyAll();
  }

  private synchronized void awaitOthers(long elementOffset) {
    long end = System.nanoTime() + PATIENCE_MILLIS * 1_000_000;
    try {
      for (long left = PATIENCE_MILLIS;
          elementOffset != next && waitingBytes > MOST_WAITING_BYTES && left > 0;
          left = (end - System.nanoTime()) / 1_000_000) {
        wait(left);
      }
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    }
  }

  private void advance(MemorySegment elements, byte @Nullable [] truths) {
    take(elements, truths);
    next += elements.byteSize() / type.byteSize();
  }
}

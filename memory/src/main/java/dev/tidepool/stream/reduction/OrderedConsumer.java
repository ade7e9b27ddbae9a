package dev.tidepool.stream.reduction;

import dev.tidepool.expression.syntax.ScalarType;
import java.lang.foreign.MemorySegment;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Takes elements in their order, whatever the order in which ranges come: one thread at a time
 * takes them, and copies of ranges wait for those before them. {@link
 * dev.tidepool.stream.chunk.ChunkScheduler} limits how many these are: a thread that waited here,
 * with a range of its own, could wait for ever.
 */
public abstract class OrderedConsumer implements RangeConsumer {
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
      MemorySegment copy = MemorySegment.ofArray(new byte[Math.toIntExact(source.byteSize())]);
      waiting.put(elementOffset, new Early(copy.copyFrom(source), truths));
      return;
    }
    advance(source, truths);
    for (Early early = waiting.remove(next); early != null; early = waiting.remove(next)) {
      advance(early.elements, early.truths);
    }
  }

  private void advance(MemorySegment elements, byte @Nullable [] truths) {
    take(elements, truths);
    next += elements.byteSize() / type.byteSize();
  }
}

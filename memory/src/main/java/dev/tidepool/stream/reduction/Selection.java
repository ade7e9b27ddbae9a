package dev.tidepool.stream.reduction;

import dev.tidepool.expression.syntax.ScalarType;
import java.lang.foreign.MemorySegment;
import java.util.Objects;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/** Passes the selected elements on, one after another, as {@code y[mask]} has them. */
public final class Selection extends OrderedConsumer {
  private final RangeConsumer out;
  private final LongConsumer finish;
  private long count;

  /**
   * Creates a selection of the elements that {@code mask} selects.
   *
   * @param out takes the selected elements
   * @param finish takes their number, once all elements came
   */
  public Selection(ScalarType type, RangeConsumer out, LongConsumer finish, Mask mask) {
    super(type, mask);
    this.out = out;
    this.finish = finish;
  }

  @Override
  void take(MemorySegment elements, byte @Nullable [] truths) {
    MemorySegment part = MemorySegment.ofArray(new byte[Math.toIntExact(elements.byteSize())]);
    byte[] known = Objects.requireNonNull(truths, "made with a mask");
    long selected = Mask.gather(elements, known, type.byteSize(), part);
    if (selected > 0) {
      out.write(count, part.asSlice(0, selected * type.byteSize()));
      count += selected;
    }
  }

  @Override
  public synchronized void finish() {
    finish.accept(count);
  }
}

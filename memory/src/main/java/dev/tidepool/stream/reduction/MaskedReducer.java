package dev.tidepool.stream.reduction;

import dev.tidepool.expression.syntax.Reduction;
import dev.tidepool.expression.syntax.Reduction.Kind;
import dev.tidepool.expression.syntax.ScalarType;
import java.lang.foreign.MemorySegment;
import java.util.Map;

/** A reduction of the elements that a mask selects. */
public final class MaskedReducer extends Reducer {
  private final Reduction reduction;
  private final Mask mask;
  private final Reducer selected;

  /**
   * Creates a reduction of the elements that {@code mask} selects.
   *
   * @param length number of elements, selected or not
   * @param scalars values of the names in the reduction's settings
   */
  public MaskedReducer(
      Reduction reduction, ScalarType type, long length, Map<String, ?> scalars, Mask mask) {
    super(type, length);
    this.reduction = reduction;
    this.mask = mask;
    this.selected =
        reduction.kind() == Kind.MEAN
            ? new PairwiseSum(type, length, ScalarType.FLOAT64, false)
            : Reducer.of(reduction, type, length, scalars);
  }

  @Override
  public void write(long elementOffset, MemorySegment source) {
    byte[] truths = mask.from(elementOffset);
    int width = type.byteSize();
    MemorySegment part = MemorySegment.ofArray(new byte[truths.length * width]);
    if (selected instanceof PairwiseSum) {
      // The order of additions depends on the positions of elements, so the others count as 0.
      for (int i = 0; i < truths.length; i++) {
        if (truths[i] != 0) {
          MemorySegment.copy(source, (long) i * width, part, (long) i * width, width);
        }
      }
      selected.write(elementOffset, part);
      return;
    }
    long count = Mask.gather(source, truths, width, part);
    if (count > 0) {
      selected.write(elementOffset, part.asSlice(0, count * width));
    }
  }

  @Override
  public Object value() {
    long count = mask.selected();
    if (count == 0 && (reduction.kind() == Kind.MIN || reduction.kind() == Kind.MAX)) {
      throw new IllegalArgumentException(
          "'%s': no element is selected, so %s has no value"
              .formatted(reduction.name(), reduction.kind().functionName()));
    }
    return reduction.kind() == Kind.MEAN
        ? boxed((double) selected.value() / count, reduction.resultType(type))
        : selected.value();
  }
}

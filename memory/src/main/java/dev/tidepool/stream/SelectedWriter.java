package dev.tidepool.stream;

import dev.tidepool.expression.syntax.ScalarType;
import java.lang.foreign.MemorySegment;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** Writes the selected elements of a result, one after another, as {@code y[mask]} has them. */
final class SelectedWriter extends OrderedReducer {
  private final NpyWriter writer;
  private long count;

  SelectedWriter(NpyWriter writer, Mask mask) {
    super(ScalarType.valueOf(writer.header().type().name()), writer.length(), mask);
    this.writer = writer;
  }

  @Override
  void take(MemorySegment elements, byte @Nullable [] truths) {
    MemorySegment part = MemorySegment.ofArray(new byte[Math.toIntExact(elements.byteSize())]);
    byte[] known = Objects.requireNonNull(truths, "made with a mask");
    long selected = Mask.gather(elements, known, type.byteSize(), part);
    if (selected > 0) {
      writer.write(count, part.asSlice(0, selected * type.byteSize()));
      count += selected;
    }
  }

  @Override
  synchronized void finish() {
    writer.shorten(count);
  }

  /** How many were written. */
  @Override
  synchronized Object value() {
    return count;
  }
}

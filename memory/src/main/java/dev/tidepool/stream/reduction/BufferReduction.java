package dev.tidepool.stream.reduction;

import dev.tidepool.UnifiedBuffer;
import dev.tidepool.cpu.CpuDevice;
import dev.tidepool.expression.syntax.Reduction;
import dev.tidepool.expression.syntax.Reduction.Kind;
import dev.tidepool.expression.syntax.ScalarType;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.jspecify.annotations.Nullable;

/** Reduces a whole buffer to one value: reads it in chunks and folds these on all processors. */
public final class BufferReduction {
  /** What one thread reads at once: it stays in the processor's cache. */
  private static final long CHUNK_BYTES = 512 << 10;

  private BufferReduction() {}

  /**
   * Returns the result of a reduction of all elements; a truth value as 0 or 1.
   *
   * @throws IllegalArgumentException if there are no elements and the result needs one, or they are
   *     records
   */
  public static Number fold(UnifiedBuffer<?> buffer, Kind kind) {
    ScalarType type = ScalarType.of(buffer.elementType());
    if (kind == Kind.MIN || kind == Kind.MAX) {
      checkAny(buffer.length(), kind.functionName());
    }
    Reduction reduction = new Reduction("buffer", kind, List.of());
    Reducer reducer = Reducer.of(reduction, type, buffer.length(), Map.of());
    read(buffer, ElementBatch.LENGTH, reducer);
    return reducer.value() instanceof Boolean truth
        ? (Number) (truth ? 1L : 0L)
        : (Number) reducer.value();
  }

  /**
   * Returns the index of the first greatest or least element.
   *
   * @throws IllegalArgumentException if there are no elements, or they are records
   */
  public static long find(UnifiedBuffer<?> buffer, boolean greatest) {
    checkAny(buffer.length(), greatest ? "argMax" : "argMin");
    ScalarType type = ScalarType.of(buffer.elementType());
    ArgReducer reducer = new ArgReducer(type, buffer.length(), greatest);
    read(buffer, ElementBatch.LENGTH, reducer);
    return (Long) reducer.value();
  }

  static void checkAny(long length, String function) {
    if (length == 0) {
      throw new IllegalArgumentException(
          function + " of no elements has no value; the buffer, or each row, is empty");
    }
  }

  /** Reads all elements in chunks of whole units of {@code unit} elements, on all processors. */
  static void read(UnifiedBuffer<?> buffer, long unit, RangeConsumer consumer) {
    long width = buffer.elementType().byteSize();
    long grain = Math.max(1, CHUNK_BYTES / (unit * width)) * unit;
    ConcurrentLinkedQueue<MemorySegment> idle = new ConcurrentLinkedQueue<>();
    CpuDevice.spread(
        buffer.length(),
        grain,
        (from, to) -> {
          @Nullable MemorySegment known = idle.poll();
          long most = Math.min(grain, to - from) * width;
          MemorySegment block =
              known != null && known.byteSize() >= most
                  ? known
                  : MemorySegment.ofArray(new long[Math.toIntExact((most + 7) / 8)]);
          for (long at = from; at < to; at += grain) {
            MemorySegment part = block.asSlice(0, Math.min(grain, to - at) * width);
            buffer.copyTo(at, part);
            consumer.write(at, part);
          }
          idle.add(block);
        });
  }

  /** Returns whether a row is read in one piece. */
  static boolean isShort(long columns, long width) {
    return columns * width <= CHUNK_BYTES;
  }
}

package dev.tidepool.stream.reduction;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_DOUBLE_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_FLOAT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_INT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_SHORT_UNALIGNED;

import dev.tidepool.expression.syntax.Reduction;
import dev.tidepool.expression.syntax.Reduction.Kind;
import dev.tidepool.expression.syntax.ScalarType;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.function.LongFunction;
import org.jspecify.annotations.Nullable;

/**
 * A reduction along one axis, whose results go to another consumer in their order.
 *
 * <p>An array is seen as {@code outer} blocks of {@code extent} rows of {@code inner} elements, of
 * which a block makes {@code inner} results. Elements come in their order, so the sums of one block
 * are all that is kept. Sums of floats are added in double, with what each addition loses kept
 * beside them (Knuth's TwoSum), and added to the sum in the end: they are better than pairwise
 * ones, and the same whatever the chunks. Along the last axis each of {@value #LANES} lanes adds
 * every {@value #LANES}-th element, so that additions need not wait for each other.
 */
public final class AxisReducer extends OrderedConsumer {
  private static final int LANES = 16;
  private static final int BUFFERED = 16 << 10;

  private final Reduction reduction;
  private final long extent;
  private final int inner;
  private final int lanes;
  private final ScalarType result;
  private final RangeConsumer out;
  private final long results;
  private final LongFunction<String> place;
  private final ElementBatch batch;
  private final boolean real;
  // Unsigned 64-bit integers are compared as signed ones, with the first bit inverted.
  private final long turned;

  // The values of the block's elements so far, by result and lane.
  private final double[] sums;
  private final double[] lost;
  private final long[] wholes;
  private final long[] counts;

  private long row;
  private int column;

  private final MemorySegment buffered;
  private int bufferedCount;
  private long written;

  /**
   * Creates a reduction.
   *
   * @param result the type of the results
   * @param extent the length of the axis
   * @param inner elements between neighbours along the axis
   * @param out takes the results
   * @param results the number of results
   * @param place returns the name of a result in messages, by its index
   * @param mask which elements count; null if all do
   */
  public AxisReducer(
      Reduction reduction,
      ScalarType type,
      ScalarType result,
      long extent,
      int inner,
      RangeConsumer out,
      long results,
      LongFunction<String> place,
      @Nullable Mask mask) {
    super(type, mask);
    this.reduction = reduction;
    this.extent = extent;
    this.inner = inner;
    this.lanes = inner == 1 ? LANES : 1;
    this.out = out;
    this.results = results;
    this.place = place;
    this.result = result;
    this.batch = new ElementBatch(type);
    this.turned = type == ScalarType.UINT64 && isChoice() ? Long.MIN_VALUE : 0;
    this.real = type.isFloating() || reduction.kind() == Kind.MEAN;
    int size = Math.multiplyExact(inner, lanes);
    this.sums = new double[real ? size : 0];
    this.lost = new double[real && !isChoice() ? size : 0];
    this.wholes = new long[real ? 0 : size];
    this.counts = new long[mask == null ? 0 : inner];
    this.buffered = MemorySegment.ofArray(new byte[BUFFERED * result.byteSize()]);
    clear();
  }

  /** Returns the value of elements that are not selected, with which a block also begins. */
  private double neutralReal() {
    return switch (reduction.kind()) {
      case MIN -> Double.POSITIVE_INFINITY;
      case MAX -> Double.NEGATIVE_INFINITY;
      default -> 0;
    };
  }

  private long neutralWhole() {
    return switch (reduction.kind()) {
      case MIN -> Long.MAX_VALUE;
      case MAX -> Long.MIN_VALUE;
      default -> 0;
    };
  }

  private void clear() {
    Arrays.fill(sums, neutralReal());
    Arrays.fill(lost, 0);
    Arrays.fill(wholes, neutralWhole());
    Arrays.fill(counts, 0);
  }

  @Override
  void take(MemorySegment elements, byte @Nullable [] truths) {
    long count = elements.byteSize() / type.byteSize();
    for (long at = 0; at < count; at += ElementBatch.LENGTH) {
      int size = (int) Math.min(ElementBatch.LENGTH, count - at);
      double[] reals = real ? batch.doubles(elements, at, size) : new double[0];
      long[] longs = real ? new long[0] : batch.longs(elements, at, size);
      for (int i = 0; turned != 0 && i < size; i++) {
        longs[i] ^= turned;
      }
      for (int i = 0; truths != null && i < size; i++) {
        if (truths[(int) at + i] == 0) {
          if (real) {
            reals[i] = neutralReal();
          } else {
            longs[i] = neutralWhole();
          }
        }
      }
      for (int i = 0; i < size; ) {
        i += run(reals, longs, truths, (int) at, i, size);
      }
    }
  }

  /** Folds elements up to the end of a row, or along the last axis of a block; returns how many. */
  private int run(
      double[] reals, long[] longs, byte @Nullable [] truths, int at, int from, int size) {
    long left = inner == 1 ? extent - row : inner - column;
    int run = (int) Math.min(left, size - from);
    int mask = lanes - 1;
    int first = inner == 1 ? (int) (row & mask) : column;
    for (int i = 0; truths != null && i < run; i++) {
      counts[inner == 1 ? 0 : column + i] += truths[at + from + i] == 0 ? 0 : 1;
    }
    for (int done = 0; done < run; ) {
      // Neighbours go to neighbouring places up to the last lane.
      int place = inner == 1 ? (first + done) & mask : first + done;
      int some = inner == 1 ? Math.min(run - done, LANES - place) : run;
      fold(reals, longs, from + done, place, some);
      done += some;
    }
    if (inner == 1) {
      row += run;
    } else {
      column += run;
      if (column == inner) {
        column = 0;
        row++;
      }
    }
    if (row == extent) {
      row = 0;
      emit();
      clear();
    }
    return run;
  }

  private void fold(double[] reals, long[] longs, int from, int place, int count) {
    switch (reduction.kind()) {
      case MIN -> {
        for (int i = 0; real && i < count; i++) {
          sums[place + i] = Math.min(sums[place + i], reals[from + i]);
        }
        for (int i = 0; !real && i < count; i++) {
          wholes[place + i] = Math.min(wholes[place + i], longs[from + i]);
        }
      }
      case MAX -> {
        for (int i = 0; real && i < count; i++) {
          sums[place + i] = Math.max(sums[place + i], reals[from + i]);
        }
        for (int i = 0; !real && i < count; i++) {
          wholes[place + i] = Math.max(wholes[place + i], longs[from + i]);
        }
      }
      default -> {
        if (real) {
          add(reals, from, place, count);
        }
        for (int i = 0; !real && i < count; i++) {
          wholes[place + i] += longs[from + i];
        }
      }
    }
  }

  private void add(double[] values, int from, int place, int count) {
    for (int i = 0; i < count; i++) {
      double sum = sums[place + i];
      double value = values[from + i];
      double total = sum + value;
      double part = total - sum;
      lost[place + i] += (sum - (total - part)) + (value - part);
      sums[place + i] = total;
    }
  }

  /** Stores the results of a complete block. */
  private void emit() {
    for (int i = 0; i < inner; i++) {
      if (counts.length > 0 && counts[i] == 0 && isChoice()) {
        throw new IllegalArgumentException(
            "'%s': %s has no selected element, so %s has no value there"
                .formatted(
                    reduction.name(),
                    place.apply(written + bufferedCount),
                    reduction.kind().functionName()));
      }
      long at = (long) bufferedCount * result.byteSize();
      if (real) {
        put(real(i), at);
      } else if (result.isFloating()) {
        putReal(whole(i), at);
      } else {
        put(whole(i), at);
      }
      if (++bufferedCount == BUFFERED) {
        flush();
      }
    }
  }

  private boolean isChoice() {
    return reduction.kind() == Kind.MIN || reduction.kind() == Kind.MAX;
  }

  private double real(int index) {
    int first = index * lanes;
    if (isChoice()) {
      double chosen = sums[first];
      for (int lane = 1; lane < lanes; lane++) {
        double other = sums[first + lane];
        chosen = reduction.kind() == Kind.MIN ? Math.min(chosen, other) : Math.max(chosen, other);
      }
      return chosen;
    }
    double sum = sums[first];
    double rest = lost[first];
    for (int lane = 1; lane < lanes; lane++) {
      double value = sums[first + lane];
      double total = sum + value;
      double part = total - sum;
      rest += lost[first + lane] + ((sum - (total - part)) + (value - part));
      sum = total;
    }
    // Where a sum is infinite or not a number, what was lost means nothing.
    double whole = Double.isFinite(sum) ? sum + rest : sum;
    long count = counts.length == 0 ? extent : counts[index];
    return reduction.kind() == Kind.MEAN ? whole / count : whole;
  }

  private long whole(int index) {
    int first = index * lanes;
    long value = wholes[first];
    for (int lane = 1; lane < lanes; lane++) {
      long other = wholes[first + lane];
      value =
          switch (reduction.kind()) {
            case MIN -> Math.min(value, other);
            case MAX -> Math.max(value, other);
            default -> value + other;
          };
    }
    return value ^ turned;
  }

  private void put(double value, long at) {
    if (result == ScalarType.FLOAT32) {
      buffered.set(JAVA_FLOAT_UNALIGNED, at, (float) value);
    } else {
      buffered.set(JAVA_DOUBLE_UNALIGNED, at, value);
    }
  }

  /** Stores a whole number as a real one, rounded once. */
  private void putReal(long value, long at) {
    boolean large = value < 0 && reduction.resultType(type).isUnsigned();
    if (result == ScalarType.FLOAT32) {
      put(large ? 2.0 * (float) ((value >>> 1) | (value & 1)) : (float) value, at);
    } else {
      put(large ? 2.0 * ((value >>> 1) | (value & 1)) : value, at);
    }
  }

  private void put(long value, long at) {
    switch (result.byteSize()) {
      case Byte.BYTES -> buffered.set(JAVA_BYTE, at, (byte) value);
      case Short.BYTES -> buffered.set(JAVA_SHORT_UNALIGNED, at, (short) value);
      case Integer.BYTES -> buffered.set(JAVA_INT_UNALIGNED, at, (int) value);
      default -> buffered.set(JAVA_LONG_UNALIGNED, at, value);
    }
  }

  private void flush() {
    if (bufferedCount > 0) {
      out.write(written, buffered.asSlice(0, (long) bufferedCount * result.byteSize()));
      written += bufferedCount;
      bufferedCount = 0;
    }
  }

  @Override
  public synchronized void finish() {
    // Along an axis without elements no element came, but there are results.
    while (extent == 0 && written + bufferedCount < results) {
      emit();
    }
    flush();
  }
}

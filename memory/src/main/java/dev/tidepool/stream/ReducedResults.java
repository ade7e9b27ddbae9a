package dev.tidepool.stream;

import dev.tidepool.expression.syntax.Reduction;
import dev.tidepool.expression.syntax.Reduction.Kind;
import dev.tidepool.expression.syntax.ScalarType;
import dev.tidepool.stream.UserEndpoints.UserSink;
import dev.tidepool.stream.chunk.ChunkScheduler;
import dev.tidepool.stream.pipeline.RangeSink;
import dev.tidepool.stream.pipeline.Sink;
import dev.tidepool.stream.reduction.AxisReducer;
import dev.tidepool.stream.reduction.Mask;
import dev.tidepool.stream.reduction.MaskedReducer;
import dev.tidepool.stream.reduction.OrderedConsumer;
import dev.tidepool.stream.reduction.RangeConsumer;
import dev.tidepool.stream.reduction.Reducer;
import dev.tidepool.stream.reduction.Selection;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The results of an evaluation that are not written as they are computed: reductions to values,
 * reductions along an axis, and selections.
 */
final class ReducedResults {
  private final NpyEvaluation.Request request;
  private final List<Reduction> reductions;
  private final List<Long> shape;
  private final long length;
  private final boolean fortran;
  private final Map<String, ScalarType> types = new HashMap<>();

  // Belong to the run that was begun last.
  private @Nullable Mask mask;
  private Map<String, Reducer> values = Map.of();
  private List<OrderedConsumer> files = List.of();

  /**
   * Creates the results for arrays of a shape.
   *
   * @param reductions the reductions of the expression
   * @param fortran whether elements come in Fortran order
   * @throws IllegalArgumentException if the shape lacks the axis that is asked for, or a result
   *     needs an element and has none
   */
  ReducedResults(
      NpyEvaluation.Request request,
      List<Reduction> reductions,
      List<Long> shape,
      boolean fortran) {
    this.request = request;
    this.reductions = List.copyOf(reductions);
    this.shape = List.copyOf(shape);
    this.length = count(shape);
    this.fortran = fortran;
    checkAxis();
  }

  private void checkAxis() {
    Integer axis = request.axis();
    if (axis == null) {
      return;
    }
    if (axis < -shape.size() || axis >= shape.size()) {
      throw new IllegalArgumentException(
          "axis %s is out of bounds: the arrays have %s %s"
              .formatted(axis, shape.size(), shape.size() == 1 ? "dimension" : "dimensions"));
    }
    for (Reduction reduction : reductions) {
      if (reduction.kind() == Kind.HISTOGRAM) {
        throw new IllegalArgumentException(
            "'" + reduction.name() + "': there is no histogram along an axis; leave the axis out");
      }
      boolean choice = reduction.kind() == Kind.MIN || reduction.kind() == Kind.MAX;
      if (choice && extent() == 0 && count(reducedShape()) > 0) {
        throw new IllegalArgumentException(
            "'%s': axis %s has no elements, so %s has no values"
                .formatted(reduction.name(), axis, reduction.kind().functionName()));
      }
    }
    long bytes = inner() * 2 * Double.BYTES;
    if (bytes > Math.min(request.options().memoryLimit(), Runtime.getRuntime().maxMemory() / 4)
        || inner() > Integer.MAX_VALUE / 2) {
      throw new IllegalArgumentException(
          "along axis %s of %s there are %s sums at a time, for which memory is too small; turn the"
                  .formatted(axis, shape, inner())
              + " array, so that the axis is the last");
    }
  }

  private int axis() {
    int axis = Objects.requireNonNull(request.axis(), "asked only where there is one");
    return axis < 0 ? axis + shape.size() : axis;
  }

  private long extent() {
    return shape.get(axis());
  }

  /**
   * Returns the number of elements from one to its neighbour along the axis, in the order of the
   * stream.
   */
  private long inner() {
    return count(fortran ? shape.subList(0, axis()) : shape.subList(axis() + 1, shape.size()));
  }

  private static long count(List<Long> dimensions) {
    return dimensions.stream().reduce(1L, (a, b) -> a * b);
  }

  private List<Long> reducedShape() {
    List<Long> reduced = new ArrayList<>(shape);
    reduced.remove(axis());
    return reduced;
  }

  /**
   * Returns the name of a result along the axis in messages, by its index in the order of the
   * results.
   */
  private String place(long index) {
    List<Long> reduced = reducedShape();
    if (reduced.isEmpty()) {
      return "the result";
    }
    List<Long> dimensions = fortran ? reduced : reduced.reversed();
    List<Long> coordinates = new ArrayList<>();
    long rest = index;
    for (long dimension : dimensions) {
      coordinates.add(rest % dimension);
      rest /= dimension;
    }
    return "result " + (fortran ? coordinates : coordinates.reversed());
  }

  /** Sets the type of a reduction's elements, which {@link #begin} needs. */
  void reducing(Reduction reduction, ScalarType type) {
    types.put(reduction.name(), type);
  }

  /**
   * Returns the header of a reduction along the axis, over elements of a type.
   *
   * @throws IllegalArgumentException if a type is asked for that loses the result's kind
   */
  NpyHeader header(Reduction reduction, ScalarType type) {
    ScalarType natural = reduction.resultType(type);
    NpyType asked = request.type();
    if (asked == null) {
      return NpyHeader.of(NpyType.valueOf(natural.name()), fortran, reducedShape());
    }
    if (!natural.assignableTo(ScalarType.valueOf(asked.name()))) {
      throw new IllegalArgumentException(
          "the %s result can't be stored into '%s' of %s without losing its kind"
              .formatted(natural.numpyName(), reduction.name(), asked.numpyName()));
    }
    return NpyHeader.of(asked, fortran, reducedShape());
  }

  /** Returns the shape of other results; for a selection, the largest possible one. */
  List<Long> resultShape() {
    return request.mask().isEmpty() ? shape : List.of(length);
  }

  /**
   * Creates the sinks; the mask is first.
   *
   * @param writers the writers of the files, by name
   */
  Map<String, Sink> begin(Map<String, NpyWriter> writers) {
    Map<String, Sink> sinks = new LinkedHashMap<>();
    Mask selection = request.mask().isEmpty() ? null : new Mask();
    mask = selection;
    if (selection != null) {
      sinks.put(request.mask(), sink(ScalarType.BOOL, selection));
    }
    List<OrderedConsumer> ordered = new ArrayList<>();
    Map<String, Reducer> folded = new LinkedHashMap<>();
    Map<String, Sink> last = new LinkedHashMap<>();
    Map<String, NpyWriter> left = new LinkedHashMap<>(writers);
    for (Reduction reduction : reductions) {
      ScalarType type = Objects.requireNonNull(types.get(reduction.name()));
      NpyWriter writer = left.remove(reduction.name());
      if (writer != null) {
        int inner = Math.toIntExact(inner());
        ordered.add(
            new AxisReducer(
                reduction,
                type,
                ScalarType.of(writer.elementType()),
                extent(),
                inner,
                writer::write,
                writer.length(),
                this::place,
                selection));
        sinks.put(reduction.name(), sink(type, ordered.getLast()));
      } else {
        Reducer reducer =
            selection == null
                ? Reducer.of(reduction, type, length, request.scalars())
                : new MaskedReducer(reduction, type, length, request.scalars(), selection);
        folded.put(reduction.name(), reducer);
        last.put(reduction.name(), sink(type, reducer));
      }
    }
    left.forEach(
        (name, writer) -> {
          if (selection == null) {
            sinks.put(name, new UserSink(writer));
            return;
          }
          ScalarType type = ScalarType.of(writer.elementType());
          ordered.add(new Selection(type, writer::write, writer::shorten, selection));
          sinks.put(name, sink(type, ordered.getLast()));
        });
    sinks.putAll(last);
    values = folded;
    files = ordered;
    return sinks;
  }

  private Sink sink(ScalarType type, RangeConsumer ranges) {
    return new RangeSink(type.elementType(), length, ranges);
  }

  /** Returns whether some results need the elements in their order. */
  boolean areOrdered() {
    return !files.isEmpty();
  }

  /** Drops the mask of a range that all sinks have received. */
  void written(ChunkScheduler.Range range) {
    if (mask != null) {
      mask.forget(range.from());
    }
  }

  /**
   * Completes the results, after all elements.
   *
   * @throws IllegalArgumentException if a result needs an element and none is selected
   */
  void finish() {
    files.forEach(OrderedConsumer::finish);
    values();
  }

  /** Returns the values, by name. */
  Map<String, Object> values() {
    return Reducer.values(values);
  }
}

package dev.tidepool;

import java.nio.file.Path;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;

/**
 * The arguments of a kernel, by name: buffers, arrays, numbers and booleans. A {@link
 * ComputeOrchestrator} also takes paths of {@code .npy} files and {@link RawFile}s. An array is
 * copied in if the kernel reads it, and back if the kernel writes it. A scalar of an expression has
 * the type of the values that it is combined with. A scalar of a hand-written kernel has the type
 * that {@link KernelParameter#scalar} declares. Immutable.
 *
 * {@snippet :
 * float[] x = {1, 2, 3};
 * try (UnifiedBuffer<float[]> y = memory.copyOf(new float[3])) {
 *   Kernel kernel = memory.compile(KernelSource.elementwise("y = a * x"));
 *   kernel.execute(Arguments.of("a", 2f, "x", x, "y", y));
 * }
 * }
 */
public final class Arguments {
  private static final String VALUES_ALONE =
      "; Arguments.inOrder(...) takes values alone, for Java methods and hand-written kernels";

  private final Map<String, Object> values;
  private final boolean inOrder;

  private Arguments(Map<String, Object> values) {
    this(values, false);
  }

  private Arguments(Map<String, Object> values, boolean inOrder) {
    this.values = Collections.unmodifiableMap(values);
    this.inOrder = inOrder;
  }

  /**
   * Returns arguments from alternating names and values: {@code of("a", 2f, "x", x, "y", y)}.
   *
   * @throws IllegalArgumentException if a name is missing, given twice, or not a string, or if a
   *     value has another type than those listed above
   */
  public static Arguments of(Object... namesAndValues) {
    if (namesAndValues.length % 2 != 0) {
      throw new IllegalArgumentException(
          "arguments are names and values in turn, but there are "
              + namesAndValues.length
              + VALUES_ALONE);
    }
    Map<String, Object> values = new LinkedHashMap<>();
    for (int i = 0; i < namesAndValues.length; i += 2) {
      if (!(namesAndValues[i] instanceof String name)) {
        throw new IllegalArgumentException(
            "argument "
                + i / 2
                + " has "
                + described(namesAndValues[i])
                + " in place of its name"
                + VALUES_ALONE);
      }
      if (values.put(name, checked(name, namesAndValues[i + 1])) != null) {
        throw new IllegalArgumentException("argument '" + name + "' is given twice");
      }
    }
    return new Arguments(values);
  }

  /**
   * Returns arguments from a map, whose order becomes the order of the names.
   *
   * @throws IllegalArgumentException if a value has another type than those listed above
   */
  public static Arguments of(Map<String, ?> values) {
    Map<String, Object> checked = new LinkedHashMap<>();
    values.forEach((name, value) -> checked.put(name, checked(name, value)));
    return new Arguments(checked);
  }

  /**
   * Returns arguments in the order of the parameters, for Java methods and hand-written kernels,
   * whose parameters have a fixed order. In {@link #values()} their names are their positions,
   * {@code "0"}, {@code "1"} and so on.
   *
   * @throws IllegalArgumentException if a value has another type than those listed above
   */
  public static Arguments inOrder(Object... values) {
    Map<String, Object> positions = new LinkedHashMap<>();
    for (int i = 0; i < values.length; i++) {
      String name = Integer.toString(i);
      positions.put(name, checked(name, values[i]));
    }
    return new Arguments(positions, true);
  }

  /** Returns whether the arguments were given by position. */
  public boolean isInOrder() {
    return inOrder;
  }

  /** Returns these arguments and one more, which replaces an argument of the same name. */
  public Arguments with(String name, Object value) {
    Map<String, Object> more = new LinkedHashMap<>(values);
    more.put(name, checked(name, value));
    return new Arguments(more, inOrder);
  }

  /** Returns the values by name, in the given order. The map is unmodifiable. */
  public Map<String, Object> values() {
    return values;
  }

  private static Object checked(String name, Object value) {
    Objects.requireNonNull(value, () -> "argument '" + name + "' is null");
    boolean legal =
        value instanceof UnifiedBuffer<?>
            || value instanceof Number
            || value instanceof Boolean
            || value instanceof Path
            || value instanceof RawFile<?>
            || ElementType.ofArray(value.getClass()).isPresent();
    if (!legal) {
      throw new IllegalArgumentException(
          "argument '"
              + name
              + "' is a "
              + value.getClass().getTypeName()
              + "; pass a buffer, an array of primitives, a number, a boolean, or the path of a"
              + " file");
    }
    return value;
  }

  private static String described(Object value) {
    return value == null ? "null" : "a value of type " + value.getClass().getTypeName();
  }

  @Override
  public String toString() {
    return "Arguments" + values.keySet();
  }
}

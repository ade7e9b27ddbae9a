package dev.tidepool.spark;

import dev.tidepool.KernelMethod;
import dev.tidepool.KernelSource;
import dev.tidepool.expression.types.Expression;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A kernel over columns. Executors receive this description and compile it for their accelerators.
 * Immutable.
 *
 * {@snippet :
 * ColumnKernel scaled = ColumnKernel.elementwise("y = a * x + b").with("a", 2.0).with("b", 1.0);
 * ColumnKernel priced = ColumnKernel.method(Pricing.class, "callPrice").with("rate", 0.02);
 * }
 *
 * <p>A name in the kernel is a column passed to {@link TidepoolFunctions#mapPartitions}, a scalar
 * set by {@link #with}, or a result, which becomes a column.
 */
public final class ColumnKernel implements Serializable {
  private static final long serialVersionUID = 1L;

  private final Source source;
  // Values of serializable types.
  private final LinkedHashMap<String, Serializable> scalars;
  private final ArrayList<String> results;

  /** The place of the code. */
  sealed interface Source extends Serializable {}

  /** An expression of the elementwise language. */
  record InExpression(String text) implements Source {
    @Override
    public String toString() {
      return text.strip();
    }
  }

  /** A Java method. */
  record InMethod(String className, String name) implements Source {
    @Override
    public String toString() {
      return className + "." + name;
    }
  }

  private ColumnKernel(Source source, Map<String, Serializable> scalars, List<String> results) {
    this.source = source;
    this.scalars = new LinkedHashMap<>(scalars);
    this.results = new ArrayList<>(results);
  }

  /**
   * Returns a kernel of assignments for each row, as in {@link KernelSource#elementwise}. All
   * assigned names are results, unless {@link #results} selects some.
   *
   * @throws dev.tidepool.KernelCompilationException if the text is not an expression
   */
  public static ColumnKernel elementwise(String expression) {
    Expression.parse(expression);
    return new ColumnKernel(new InExpression(expression), Map.of(), List.of());
  }

  /**
   * Returns a kernel that is a public static method with {@link KernelMethod}, as in {@link
   * KernelSource#method(Class, String)}. The method is called for each row. Its arrays are columns
   * of one chunk of a partition, and the item's index is the index of the row in that chunk. So a
   * row must be computed from its own values alone. Every array that the method writes is a result,
   * unless {@link #results} selects some.
   *
   * @throws IllegalArgumentException if the class has no such method
   */
  public static ColumnKernel method(Class<?> owner, String name) {
    KernelSource.method(owner, name);
    return method(owner.getName(), name);
  }

  /** Like {@link #method(Class, String)}, but takes the class's name; the class is loaded later. */
  public static ColumnKernel method(String className, String name) {
    Objects.requireNonNull(className, "className");
    Objects.requireNonNull(name, "name");
    return new ColumnKernel(new InMethod(className, name), Map.of(), List.of());
  }

  /** Returns this kernel with a number for one of its names. */
  public ColumnKernel with(String name, Number value) {
    return withScalar(name, value);
  }

  /** Returns this kernel with a truth value for one of its names. */
  public ColumnKernel with(String name, boolean value) {
    return withScalar(name, value);
  }

  private ColumnKernel withScalar(String name, Serializable value) {
    Objects.requireNonNull(value, () -> "the scalar '" + name + "' is null");
    Map<String, Serializable> more = new LinkedHashMap<>(scalars);
    more.put(name, value);
    return new ColumnKernel(source, more, results);
  }

  /** Returns this kernel with only some of the names that it writes as results. */
  public ColumnKernel results(String... names) {
    return new ColumnKernel(source, scalars, List.of(names));
  }

  Source source() {
    return source;
  }

  /** Returns the source for the library; loads its class with Spark's context class loader. */
  KernelSource compilable() {
    return switch (source) {
      case InExpression(String text) -> KernelSource.elementwise(text);
      case InMethod(String className, String name) -> KernelSource.method(load(className), name);
    };
  }

  private static Class<?> load(String className) {
    ClassLoader loader = Thread.currentThread().getContextClassLoader();
    try {
      return Class.forName(
          className, false, loader == null ? ColumnKernel.class.getClassLoader() : loader);
    } catch (ClassNotFoundException e) {
      throw new IllegalArgumentException(
          "the class " + className + " of the kernel was not found; add its jar with --jars", e);
    }
  }

  Map<String, Serializable> scalars() {
    return Collections.unmodifiableMap(scalars);
  }

  /** Returns the value of a given scalar. */
  Object scalar(String name) {
    return Objects.requireNonNull(scalars.get(name), name);
  }

  /** Returns the selected results; empty for all names that are written. */
  List<String> results() {
    return Collections.unmodifiableList(results);
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof ColumnKernel kernel
        && source.equals(kernel.source)
        && scalars.equals(kernel.scalars)
        && results.equals(kernel.results);
  }

  @Override
  public int hashCode() {
    return Objects.hash(source, scalars, results);
  }

  @Override
  public String toString() {
    return source + (scalars.isEmpty() ? "" : " with " + scalars);
  }
}

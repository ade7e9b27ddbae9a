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
 * What a kernel computes from columns: a description that travels to executors, where it is
 * compiled for their accelerators. Immutable.
 *
 * {@snippet :
 * ColumnKernel scaled = ColumnKernel.elementwise("y = a * x + b").with("a", 2.0).with("b", 1.0);
 * ColumnKernel priced = ColumnKernel.method(Pricing.class, "callPrice").with("rate", 0.02);
 * }
 *
 * <p>Names of the kernel are columns that {@link TidepoolFunctions#mapPartitions} is given, scalars
 * given by {@link #with}, or results, which become columns.
 */
public final class ColumnKernel implements Serializable {
  private static final long serialVersionUID = 1L;

  private final Source source;
  // Of types that can be serialized.
  private final LinkedHashMap<String, Serializable> scalars;
  private final ArrayList<String> results;

  /** Where the code is. */
  sealed interface Source extends Serializable {}

  /** In an expression of the elementwise language. */
  record InExpression(String text) implements Source {
    @Override
    public String toString() {
      return text.strip();
    }
  }

  /** In a Java method. */
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
   * Assignments that are computed for each row, as {@link KernelSource#elementwise} has them. Every
   * name that is assigned is a result, unless {@link #results} says which are.
   *
   * @throws dev.tidepool.KernelCompilationException if the text is no expression
   */
  public static ColumnKernel elementwise(String expression) {
    Expression.parse(expression);
    return new ColumnKernel(new InExpression(expression), Map.of(), List.of());
  }

  /**
   * Returns a public static method with {@link KernelMethod}, as {@link KernelSource#method(Class,
   * String)} takes it. It is called for each row. Its arrays are columns of one chunk of a
   * partition, and the item's index is the row's in that chunk, so a row must be computed from
   * itself alone. Every array that the method writes is a result, unless {@link #results} says
   * which are.
   *
   * @throws IllegalArgumentException if the class has no such method
   */
  public static ColumnKernel method(Class<?> owner, String name) {
    KernelSource.method(owner, name);
    return method(owner.getName(), name);
  }

  /** Like {@link #method(Class, String)}, by the class's name; it is loaded when it is needed. */
  public static ColumnKernel method(String className, String name) {
    Objects.requireNonNull(className, "className");
    Objects.requireNonNull(name, "name");
    return new ColumnKernel(new InMethod(className, name), Map.of(), List.of());
  }

  /** This kernel with a number for one of its names. */
  public ColumnKernel with(String name, Number value) {
    return withScalar(name, value);
  }

  /** This kernel with a truth value for one of its names. */
  public ColumnKernel with(String name, boolean value) {
    return withScalar(name, value);
  }

  private ColumnKernel withScalar(String name, Serializable value) {
    Objects.requireNonNull(value, () -> "the scalar '" + name + "' is null");
    Map<String, Serializable> more = new LinkedHashMap<>(scalars);
    more.put(name, value);
    return new ColumnKernel(source, more, results);
  }

  /** This kernel with only these of the names that it writes as columns of the result. */
  public ColumnKernel results(String... names) {
    return new ColumnKernel(source, scalars, List.of(names));
  }

  Source source() {
    return source;
  }

  /** Returns what the library compiles. Classes are loaded by the loader of Spark's thread. */
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

  /** Returns the value of a scalar that is given. */
  Object scalar(String name) {
    return Objects.requireNonNull(scalars.get(name), name);
  }

  /** Which names are results; empty for all that are written. */
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

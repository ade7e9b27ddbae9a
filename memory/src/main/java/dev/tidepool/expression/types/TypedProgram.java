package dev.tidepool.expression.types;

import dev.tidepool.KernelParameter.Access;
import dev.tidepool.expression.syntax.Node;
import dev.tidepool.expression.syntax.ScalarKind;
import dev.tidepool.expression.syntax.ScalarType;
import dev.tidepool.expression.syntax.ScalarValue;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * An expression with a type for every name, from which generators create code. Immutable and safe
 * for use by all threads.
 */
public final class TypedProgram {
  private final Expression expression;
  private final List<ArrayParameter> arrays;
  private final List<UniformSource> uniformSources;
  private final List<WeakScalar> scalars;
  private final List<Store> stores;

  /**
   * An array that the program reads or writes.
   *
   * @param name its name in the expression
   * @param type the type of its elements
   * @param access how the program accesses it
   */
  public record ArrayParameter(String name, ScalarType type, Access access) {}

  /**
   * A value that is the same for all elements, passed to the code by value. One scalar may be
   * several uniforms, of different types.
   *
   * @param type the type in which it is passed
   * @param text its description for messages
   */
  public record Uniform(ScalarType type, String text) {}

  /** A uniform and the source of its value. */
  record UniformSource(Uniform uniform, WeakScalar scalar) {}

  /** The value that is stored to the array {@code array}. */
  public record Store(int array, Node value) {}

  TypedProgram(
      Expression expression,
      List<ArrayParameter> arrays,
      List<UniformSource> uniformSources,
      List<WeakScalar> scalars,
      List<Store> stores) {
    this.expression = expression;
    this.arrays = List.copyOf(arrays);
    this.uniformSources = List.copyOf(uniformSources);
    this.scalars = List.copyOf(scalars);
    this.stores = List.copyOf(stores);
  }

  /** Returns the expression from which this program was resolved. */
  public Expression expression() {
    return expression;
  }

  /** Returns the arrays, in the order in which generated code takes them. */
  public List<ArrayParameter> arrays() {
    return arrays;
  }

  /**
   * Returns the by-value parameters, in the order in which generated code takes them after the
   * arrays.
   */
  public List<Uniform> uniforms() {
    return uniformSources.stream().map(UniformSource::uniform).toList();
  }

  public List<Store> stores() {
    return stores;
  }

  /** Returns every node that a store needs, in an order in which they can be computed. */
  public List<Node> nodes() {
    boolean[] seen = new boolean[1 + stores.stream().mapToInt(s -> s.value().id()).max().orElse(0)];
    List<Node> found = new ArrayList<>();
    List<Node> open = new ArrayList<>(stores.stream().map(Store::value).toList());
    while (!open.isEmpty()) {
      Node node = open.removeLast();
      if (!seen[node.id()]) {
        seen[node.id()] = true;
        found.add(node);
        open.addAll(node.args());
      }
    }
    found.sort((a, b) -> Integer.compare(a.id(), b.id()));
    return found;
  }

  /**
   * Returns the values of {@link #uniforms()} for these scalars, as raw bits: integers extended to
   * 64 bits by sign or zeros, floats as their IEEE bits.
   *
   * @param values by name: booleans, boxed numbers, {@link java.math.BigInteger}s; names of arrays
   *     are ignored
   * @throws IllegalArgumentException if a scalar is missing or is not of the kind that it was
   *     resolved as, or if an integer does not fit the array that it is combined with
   * @throws ArithmeticException if scalars alone divide by zero or exceed all bounds
   */
  public long[] uniformValues(Map<String, ?> values) {
    if (uniformSources.isEmpty()) {
      return new long[0];
    }
    @Nullable Object[] computed = new Object[scalars.size()];
    for (WeakScalar scalar : scalars) {
      computed[scalar.id()] = compute(scalar, computed, values);
    }
    long[] bits = new long[uniformSources.size()];
    for (int i = 0; i < bits.length; i++) {
      UniformSource source = uniformSources.get(i);
      try {
        bits[i] =
            ScalarValue.bits(
                Objects.requireNonNull(computed[source.scalar().id()]), source.uniform().type());
      } catch (ArithmeticException e) {
        throw new IllegalArgumentException(
            "'" + source.uniform().text() + "' in '" + expression.shown() + "': " + e.getMessage(),
            e);
      }
    }
    return bits;
  }

  private Object compute(WeakScalar scalar, @Nullable Object[] computed, Map<String, ?> values) {
    if (scalar.constant() != null) {
      return scalar.constant();
    }
    if (scalar.parameter() == null) {
      List<Object> args = new ArrayList<>();
      scalar.args().forEach(arg -> args.add(Objects.requireNonNull(computed[arg.id()])));
      return WeakArithmetic.compute(scalar.op(), args);
    }
    Object value = values.get(scalar.parameter());
    if (value == null) {
      throw new IllegalArgumentException(
          "no value for the scalar '" + scalar.parameter() + "' of '" + expression + "'");
    }
    if (ScalarKind.of(value) != scalar.kind()) {
      throw new IllegalArgumentException(
          "the scalar '"
              + scalar.parameter()
              + "' was resolved as "
              + scalar.kind()
              + ", but is now the "
              + ScalarKind.of(value)
              + " "
              + value);
    }
    return ScalarValue.normalized(value);
  }

  @Override
  public String toString() {
    return expression + " " + arrays;
  }
}

package dev.tidepool.expression.syntax;

import java.math.BigInteger;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * An assignment that reduces all elements to one value, or to counts.
 *
 * @param name the assigned name
 * @param kind how elements are folded
 * @param settings for a histogram, the number of bins and the lowest and the highest value;
 *     otherwise empty
 */
public record Reduction(String name, Kind kind, List<Setting> settings) {
  /** The ways to fold elements. */
  public enum Kind {
    /** NumPy's {@code sum}. */
    SUM(1),
    /** NumPy's {@code min}: not-a-number if there is one. */
    MIN(1),
    /** NumPy's {@code max}: not-a-number if there is one. */
    MAX(1),
    /** NumPy's {@code mean}. */
    MEAN(1),
    /** The counts of NumPy's {@code histogram} with bins of equal width. */
    HISTOGRAM(4);

    final int arity;

    Kind(int arity) {
      this.arity = arity;
    }

    /** Returns the name in sources. */
    public String functionName() {
      return name().toLowerCase(Locale.ROOT);
    }

    /** Returns the names of all kinds in sources. */
    static List<String> names() {
      return Arrays.stream(values()).map(Kind::functionName).toList();
    }

    /** Returns the names of all kinds, for a message. */
    static String list() {
      List<String> names = names();
      int last = names.size() - 1;
      return String.join(", ", names.subList(0, last)) + " and " + names.get(last);
    }

    static Optional<Kind> of(String functionName) {
      return Arrays.stream(values())
          .filter(kind -> kind.functionName().equals(functionName))
          .findFirst();
    }
  }

  /**
   * An argument besides the elements: a number.
   *
   * @param text the source text: a number, or the name of a scalar
   * @param constant the number; null for a scalar's name
   */
  public record Setting(String text, @Nullable Number constant) {
    /**
     * Returns its value.
     *
     * @param scalars values by name
     * @throws IllegalArgumentException if the scalar is missing or no number
     */
    public Number in(Map<String, ?> scalars) {
      if (constant != null) {
        return constant;
      }
      Object value = scalars.get(text);
      if (value == null) {
        throw new IllegalArgumentException("no value for the scalar '" + text + "'");
      }
      Object number = ScalarValue.normalized(value);
      if (number instanceof Boolean) {
        throw new IllegalArgumentException("'" + text + "' must be a number, not " + value);
      }
      return (Number) number;
    }
  }

  /** Copies the list. */
  public Reduction {
    Objects.requireNonNull(name, "name");
    Objects.requireNonNull(kind, "kind");
    settings = List.copyOf(settings);
  }

  /** Returns the scalars that the settings name. */
  public List<String> scalars() {
    return settings.stream()
        .filter(setting -> setting.constant() == null)
        .map(Setting::text)
        .toList();
  }

  /**
   * Returns the type of the result over elements of {@code type}, as in NumPy: sums of integers and
   * of truth values are 64 bits wide, means of them are float64, counts are int64.
   */
  public ScalarType resultType(ScalarType type) {
    return switch (kind) {
      case MIN, MAX -> type;
      case SUM ->
          type.isFloating() ? type : type.isUnsigned() ? ScalarType.UINT64 : ScalarType.INT64;
      case MEAN -> type.isFloating() ? type : ScalarType.FLOAT64;
      case HISTOGRAM -> ScalarType.INT64;
    };
  }

  static Setting literal(String text) {
    return new Setting(
        text, text.matches("[-+]?[0-9]+") ? new BigInteger(text) : Double.valueOf(text));
  }
}

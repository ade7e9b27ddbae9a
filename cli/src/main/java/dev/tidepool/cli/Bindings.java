package dev.tidepool.cli;

import dev.tidepool.KernelParameter.Access;
import dev.tidepool.expression.syntax.Reduction;
import dev.tidepool.expression.types.Expression;
import java.math.BigInteger;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The values that a command line assigns to names, in the order of the expression.
 *
 * @param inputs the files of names that are only read
 * @param outputs the files of names that are assigned; names without one are local values
 * @param scalars the values of names that are only read: Boolean, Long, BigInteger or Double
 */
record Bindings(Map<String, Path> inputs, Map<String, Path> outputs, Map<String, Object> scalars) {
  private static final Pattern NAME = Pattern.compile("[A-Za-z_][A-Za-z0-9_]*");
  private static final Pattern INTEGER = Pattern.compile("[-+]?\\d+");
  private static final Pattern DECIMAL =
      Pattern.compile("[-+]?(\\d+\\.\\d*|\\.?\\d+)([eE][-+]?\\d+)?");

  /**
   * Reads {@code name=value} texts. A value is a number, {@code true} or {@code false}; any other
   * value is a file. Write {@code ./1} for a file whose name looks like a number.
   *
   * @param arrays whether reductions produce arrays, which are written to files
   * @param mask a name that is not a result, or empty
   * @throws WrongArguments if a text has another form, the names do not match those of the
   *     expression, or nothing is read or written
   */
  static Bindings of(Expression expression, List<String> texts, boolean arrays, String mask) {
    Map<String, String> values = values(texts);
    Bindings bindings =
        new Bindings(new LinkedHashMap<>(), new LinkedHashMap<>(), new LinkedHashMap<>());
    for (Expression.Name name : expression.names()) {
      String value = values.remove(name.name());
      if (value != null) {
        bindings.bind(expression, name, value, arrays);
      } else if (name.access() != Access.OUT) {
        // With a mask, the text has a further line: the condition, behind the mask's name.
        String place = mask.isEmpty() ? " (column " + name.column() + " of the expression)" : "";
        throw new WrongArguments(
            "%s%s has no value; add %s=FILE.npy or %s=NUMBER"
                .formatted(name.name(), place, name.name(), name.name()));
      }
    }
    for (Reduction reduction : expression.reductions()) {
      for (String scalar : reduction.scalars()) {
        String value = values.remove(scalar);
        if (value != null) {
          bindings.bind(reduction, scalar, value);
        } else if (!bindings.scalars().containsKey(scalar)) {
          throw new WrongArguments(
              "%s, a setting of %s, has no value; add %s=NUMBER"
                  .formatted(scalar, reduction.kind().functionName(), scalar));
        }
      }
    }
    if (!values.isEmpty()) {
      String unused = values.keySet().iterator().next();
      throw new WrongArguments(
          "%s is given but does not occur in the expression, whose names are %s"
              .formatted(unused, names(expression, null, mask)));
    }
    bindings.checkEnough(expression, mask);
    return bindings;
  }

  private static Map<String, String> values(List<String> texts) {
    Map<String, String> values = new LinkedHashMap<>();
    for (String text : texts) {
      int equals = text.indexOf('=');
      if (equals <= 0 || equals == text.length() - 1) {
        throw new WrongArguments(
            "'" + text + "' is no binding; write NAME=FILE.npy or NAME=NUMBER, without spaces");
      }
      String name = text.substring(0, equals);
      if (!NAME.matcher(name).matches()) {
        throw new WrongArguments(
            "'" + name + "' is no name; names consist of letters, digits and '_'");
      }
      if (values.put(name, text.substring(equals + 1)) != null) {
        throw new WrongArguments(name + " is given twice");
      }
    }
    return values;
  }

  private void bind(Reduction reduction, String name, String value) {
    scalars.put(
        name,
        scalar(value)
            .orElseThrow(
                () ->
                    new WrongArguments(
                        "%s is a setting of %s, so %s=%s must be a number"
                            .formatted(name, reduction.kind().functionName(), name, value))));
  }

  private static boolean isReduced(Expression expression, String name) {
    return expression.reductions().stream().anyMatch(reduction -> reduction.name().equals(name));
  }

  private void bind(Expression expression, Expression.Name name, String value, boolean arrays) {
    Optional<Object> scalar = scalar(value);
    if (name.access() == Access.IN) {
      scalar.ifPresentOrElse(
          number -> scalars.put(name.name(), number), () -> inputs.put(name.name(), path(value)));
      return;
    }
    if (name.access() == Access.INOUT) {
      throw new WrongArguments(
          "%s is read before it is assigned, which would overwrite an input; assign to another name"
              .formatted(name.name()));
    }
    if (!arrays && isReduced(expression, name.name())) {
      throw new WrongArguments(
          "%s is one value, which is printed and goes to no file; leave %s=%s out, or name an --axis"
              .formatted(name.name(), name.name(), value));
    }
    if (scalar.isPresent()) {
      throw new WrongArguments(
          "%s is assigned, so %s=%s must name a file; write ./%s if it is one"
              .formatted(name.name(), name.name(), value, value));
    }
    outputs.put(name.name(), path(value));
  }

  private void checkEnough(Expression expression, String mask) {
    if (outputs.isEmpty() && expression.reductions().isEmpty()) {
      throw new WrongArguments(
          "the result has no file; add %s=FILE.npy".formatted(names(expression, Access.OUT, mask)));
    }
    if (inputs.isEmpty()) {
      throw new WrongArguments(
          "no name is given an array, so the result has no shape; give one as NAME=FILE.npy");
    }
  }

  /** Returns the names of an access, or all if it is null, in order and without the mask. */
  private static String names(Expression expression, @Nullable Access only, String mask) {
    LinkedHashSet<String> names = new LinkedHashSet<>();
    for (Expression.Name name : expression.names()) {
      if (!name.name().equals(mask) && (only == null || name.access() == only)) {
        names.add(name.name());
      }
    }
    return String.join(", ", names);
  }

  private static Path path(String text) {
    try {
      return Path.of(text);
    } catch (InvalidPathException e) {
      throw new WrongArguments("'" + text + "' is no path: " + e.getReason(), e);
    }
  }

  /** Returns the number or truth value of a text; empty for the name of a file. */
  static Optional<Object> scalar(String text) {
    if (INTEGER.matcher(text).matches()) {
      BigInteger integer = new BigInteger(text);
      return Optional.of(integer.bitLength() < Long.SIZE ? (Object) integer.longValue() : integer);
    }
    if (DECIMAL.matcher(text).matches()) {
      return Optional.of(Double.valueOf(text));
    }
    return switch (text.toLowerCase(Locale.ROOT)) {
      case "true" -> Optional.of(true);
      case "false" -> Optional.of(false);
      case "inf", "+inf" -> Optional.of(Double.POSITIVE_INFINITY);
      case "-inf" -> Optional.of(Double.NEGATIVE_INFINITY);
      case "nan" -> Optional.of(Double.NaN);
      default -> Optional.empty();
    };
  }
}

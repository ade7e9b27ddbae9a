package dev.tidepool.testkit.kernels;

import dev.tidepool.Accelerator;
import dev.tidepool.Capability;
import dev.tidepool.testkit.kernels.Operations.Operation;
import java.util.List;

/**
 * The types that random kernels use.
 *
 * @param doubles whether the types include double
 */
public record Kinds(boolean doubles) {
  /** All types. */
  static final Kinds ALL = new Kinds(true);

  /** Returns the types that an accelerator supports. */
  public static Kinds of(Accelerator accelerator) {
    return new Kinds(accelerator.capabilities().contains(Capability.FLOAT64));
  }

  List<Kind> all() {
    return allowed(List.of(Kind.values()));
  }

  /** Returns the types of array elements and scalar parameters. */
  List<Kind> elements() {
    return allowed(Kind.ELEMENTS);
  }

  List<Kind> numbers() {
    return allowed(Kind.NUMBERS);
  }

  private List<Kind> allowed(List<Kind> kinds) {
    return doubles ? kinds : kinds.stream().filter(kind -> kind != Kind.DOUBLE).toList();
  }

  /** Returns the operations with a result of a type. */
  List<Operation> operations(Kind result) {
    List<Operation> operations = Operations.of(result);
    return doubles
        ? operations
        : operations.stream()
            .filter(operation -> operation.operands().indexOf(Kind.DOUBLE.letter()) < 0)
            .toList();
  }
}

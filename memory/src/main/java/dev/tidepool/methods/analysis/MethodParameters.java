package dev.tidepool.methods.analysis;

import dev.tidepool.ElementType;
import dev.tidepool.KernelParameter;
import dev.tidepool.KernelParameter.Access;
import dev.tidepool.KernelSource;
import dev.tidepool.methods.bytecode.MethodReader;
import dev.tidepool.methods.tree.ElementKind;
import dev.tidepool.methods.tree.KernelTree;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** The parameters of kernels that are Java methods, in the form that launches use. */
public final class MethodParameters {
  private MethodParameters() {}

  /**
   * Returns the parameters of a method, in order, for arrays of one length and one item per
   * element. Arrays that the items write completely are OUT.
   */
  public static List<KernelParameter> of(KernelSource.Method source) {
    KernelTree tree = MethodReader.read(source);
    ArrayAccesses accesses = ArrayAccesses.ofOneLength(tree);
    List<KernelParameter> parameters = new ArrayList<>();
    for (KernelParameter parameter : of(tree, accesses)) {
      parameters.add(accesses.isOut(parameters.size()) ? out(parameter) : parameter);
    }
    return parameters;
  }

  /** Returns a parameter with the access OUT. */
  public static KernelParameter out(KernelParameter parameter) {
    return new KernelParameter(parameter.name(), Access.OUT, parameter.type());
  }

  /** Returns the parameters, in order, with the accesses that hold for every range. */
  public static List<KernelParameter> of(KernelTree tree, ArrayAccesses accesses) {
    List<KernelParameter> parameters = new ArrayList<>();
    for (int i = 0; i < tree.parameters().size(); i++) {
      KernelTree.Parameter parameter = tree.parameters().get(i);
      parameters.add(
          new KernelParameter(
              parameter.name(),
              parameter.isArray() ? accesses.access(i) : Access.SCALAR,
              type(parameter.kind())));
    }
    return List.copyOf(parameters);
  }

  /** Returns a hint for users whose class file has no parameter names; empty if it has names. */
  public static Optional<String> namesHint(List<KernelParameter> parameters) {
    boolean areNumbered =
        parameters.stream().allMatch(parameter -> parameter.name().matches("arg[0-9]+"));
    return parameters.isEmpty() || !areNumbered
        ? Optional.empty()
        : Optional.of(
            "the class file has no names of parameters; compile it with -g or -parameters");
  }

  private static ElementType<?> type(ElementKind kind) {
    return switch (kind) {
      case BOOLEAN -> ElementType.BOOLEAN;
      case BYTE -> ElementType.BYTE;
      case SHORT -> ElementType.SHORT;
      case INT -> ElementType.INT;
      case LONG -> ElementType.LONG;
      case FLOAT -> ElementType.FLOAT;
      case DOUBLE -> ElementType.DOUBLE;
    };
  }
}

package dev.tidepool.stream.pipeline;

import dev.tidepool.ElementType;
import dev.tidepool.KernelParameter;
import dev.tidepool.KernelSource;
import dev.tidepool.expression.syntax.ScalarType;
import dev.tidepool.expression.types.Expression;
import dev.tidepool.expression.types.Operand;
import dev.tidepool.methods.analysis.MethodParameters;
import dev.tidepool.methods.analysis.OwnElements;
import dev.tidepool.methods.bytecode.MethodReader;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The names that the kernels of a pipeline use, and the types of the arrays. A name that one kernel
 * writes and a later one reads is an array between them, unless it is also written out.
 *
 * @param arrays every array by its name: those that were given, then those that kernels make
 * @param taken for each kernel, the names of the arrays and scalars that it takes
 */
public record StagePlan(Map<String, ElementType<?>> arrays, List<Set<String>> taken) {
  /**
   * Determines the types of arrays that kernels write: NumPy's for expressions, the declared ones
   * for hand-written code.
   *
   * @param kernels in their order
   * @param given arrays whose type is known
   * @param scalars values by name
   * @param wanted names that are wanted as arrays, whatever later kernels read
   * @param files what given arrays are read from, by name, for messages; of some or none
   * @throws IllegalArgumentException if a kernel reads a name that nothing has made before, takes
   *     another type, or is a method that uses other elements than its item's
   * @throws dev.tidepool.expression.syntax.ExpressionException if an expression does not fit what
   *     it gets
   */
  public static StagePlan of(
      List<KernelSource> kernels,
      Map<String, ElementType<?>> given,
      Map<String, ?> scalars,
      Set<String> wanted,
      Map<String, Path> files) {
    Map<String, ElementType<?>> arrays = new LinkedHashMap<>(given);
    List<Set<String>> taken = new ArrayList<>();
    for (int i = 0; i < kernels.size(); i++) {
      Set<String> needed = new LinkedHashSet<>(wanted);
      kernels.subList(i + 1, kernels.size()).forEach(later -> needed.addAll(names(later)));
      if (kernels.get(i) instanceof KernelSource.Elementwise(String expression)) {
        type(Expression.parse(expression), arrays, scalars, needed);
      } else {
        checkOwnElements(kernels.get(i));
        type(kernels.get(i), arrays, scalars, files);
      }
      Set<String> bound = new LinkedHashSet<>(names(kernels.get(i)));
      bound.removeIf(name -> !arrays.containsKey(name) && !scalars.containsKey(name));
      taken.add(bound);
    }
    return new StagePlan(arrays, taken);
  }

  /**
   * Returns the type of an array that kernels write.
   *
   * @param types of all arrays
   * @throws IllegalArgumentException if no kernel makes it
   */
  public static ElementType<?> made(Map<String, ElementType<?>> types, String name) {
    ElementType<?> type = types.get(name);
    if (type == null) {
      throw new IllegalArgumentException(
          "no kernel makes '" + name + "'; the pipeline has " + types.keySet());
    }
    return type;
  }

  /** Refuses a method whose results would differ if it ran over chunks of the arrays. */
  private static void checkOwnElements(KernelSource kernel) {
    if (kernel instanceof KernelSource.Method method) {
      OwnElements.besides(MethodReader.read(method))
          .ifPresent(
              other -> {
                throw new IllegalArgumentException(
                    "kernel '%s' uses %s; arrays are streamed in chunks, and it would see one chunk at a time: copy them to buffers, and launch it over those"
                        .formatted(method.name(), other));
              });
    }
  }

  /**
   * Refuses what no kernel uses, and results that none makes, whose contents would be undefined.
   *
   * @param kernels in their order
   * @param sources names of arrays that are given
   * @param scalars names of values that are given
   * @param sinks names of arrays that are wanted
   * @throws IllegalArgumentException that names one of them
   */
  public static void checkUse(
      List<KernelSource> kernels, Set<String> sources, Set<String> scalars, Set<String> sinks) {
    Set<String> unused = new LinkedHashSet<>(sources);
    unused.addAll(scalars);
    Set<String> unmade = new LinkedHashSet<>(sinks);
    unmade.removeAll(sources);
    for (KernelSource kernel : kernels) {
      accesses(kernel)
          .forEach(
              (name, access) -> {
                unused.remove(name);
                if (access.reads() && unmade.contains(name)) {
                  throw notMade(
                      kernel,
                      name,
                      "'" + name + "' is read before a kernel has made it; add a source for it");
                }
                if (access.writes()) {
                  unmade.remove(name);
                }
              });
    }
    if (!unmade.isEmpty()) {
      throw new IllegalArgumentException(
          "no kernel makes '" + unmade.iterator().next() + "'; assign it, or leave it out");
    }
    if (!unused.isEmpty()) {
      throw new IllegalArgumentException(
          "no kernel uses '" + unused.iterator().next() + "'; leave it out");
    }
  }

  /**
   * Returns the exception for a name that is read before it is written. An array that a Java method
   * may leave unchanged counts as read.
   */
  private static IllegalArgumentException notMade(KernelSource kernel, String name, String isRead) {
    return new IllegalArgumentException(
        kernel instanceof KernelSource.Method method
            ? "kernel '%s' reads '%s', or does not store to it at its index on every way; store to it at the end of every way, or add a source for it"
                .formatted(method.name(), name)
            : isRead);
  }

  /** Returns the names of a kernel's arrays, scalars and local values. */
  public static Set<String> names(KernelSource kernel) {
    return accesses(kernel).keySet();
  }

  /** Returns how a kernel uses its arrays, scalars and local values, by name. */
  public static Map<String, KernelParameter.Access> accesses(KernelSource kernel) {
    Map<String, KernelParameter.Access> accesses = new LinkedHashMap<>();
    if (kernel instanceof KernelSource.Elementwise(String expression)) {
      Expression.parse(expression)
          .names()
          .forEach(name -> accesses.put(name.name(), name.access()));
    }
    declared(kernel).forEach(parameter -> accesses.put(parameter.name(), parameter.access()));
    return accesses;
  }

  /** Returns the parameters that a kernel declares; none for an expression. */
  public static List<KernelParameter> declared(KernelSource kernel) {
    return switch (kernel) {
      case KernelSource.Elementwise _ -> List.of();
      case KernelSource.HandWritten written -> written.parameters();
      case KernelSource.Method method -> MethodParameters.of(method);
    };
  }

  private static void type(
      Expression expression,
      Map<String, ElementType<?>> arrays,
      Map<String, ?> scalars,
      Set<String> needed) {
    Map<String, Operand> operands = new LinkedHashMap<>();
    for (Expression.Name name : expression.names()) {
      ElementType<?> type = arrays.get(name.name());
      Object scalar = scalars.get(name.name());
      if (type != null) {
        operands.put(name.name(), Operand.array(ScalarType.of(type)));
      } else if (scalar != null) {
        operands.put(name.name(), Operand.scalar(scalar));
      } else if (!name.access().reads() && needed.contains(name.name())) {
        operands.put(name.name(), Operand.output());
      }
    }
    expression
        .resolve(operands, "add a source for it, or set a number by with(name, number)")
        .arrays()
        .forEach(array -> arrays.put(array.name(), array.type().elementType()));
  }

  /** Returns the name of a kernel in messages. */
  private static String called(KernelSource kernel) {
    return switch (kernel) {
      case KernelSource.Elementwise(String expression) -> "'" + expression + "'";
      case KernelSource.OpenCl opencl -> "kernel '" + opencl.entry() + "'";
      case KernelSource.Cuda cuda -> "kernel '" + cuda.entry() + "'";
      case KernelSource.CudaImage image -> "kernel '" + image.entry() + "'";
      case KernelSource.Metal metal -> "kernel '" + metal.entry() + "'";
      case KernelSource.Java _ -> "the kernel in Java";
      case KernelSource.Method method -> "kernel '" + method.name() + "'";
    };
  }

  private static void type(
      KernelSource kernel,
      Map<String, ElementType<?>> arrays,
      Map<String, ?> scalars,
      Map<String, Path> files) {
    for (KernelParameter parameter : declared(kernel)) {
      String name = parameter.name();
      if (!parameter.access().isArray()) {
        if (!scalars.containsKey(name)) {
          throw new IllegalArgumentException("the scalar '" + name + "' has no value; give it one");
        }
        continue;
      }
      ElementType<?> known = arrays.get(name);
      if (known == null && parameter.access().reads()) {
        throw notMade(
            kernel,
            name,
            "'" + name + "' is read, but no array and no kernel before gives it; add a source");
      }
      if (known != null && !known.equals(parameter.type())) {
        throw new IllegalArgumentException(
            "'"
                + name
                + "'"
                + (files.containsKey(name) ? " in " + files.get(name) : "")
                + " holds "
                + known
                + " elements, but "
                + called(kernel)
                + " takes "
                + parameter.type());
      }
      arrays.put(name, parameter.type());
    }
  }
}

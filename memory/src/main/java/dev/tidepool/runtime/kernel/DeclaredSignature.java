package dev.tidepool.runtime.kernel;

import dev.tidepool.Arguments;
import dev.tidepool.ElementType;
import dev.tidepool.KernelParameter;
import dev.tidepool.KernelSource;
import dev.tidepool.LaunchRange;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.methods.analysis.MethodParameters;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;

/**
 * The signature of code whose parameters are declared: hand-written kernels and Java methods.
 *
 * @param kernel the name of the kernel in messages
 */
record DeclaredSignature(String kernel, List<KernelParameter> declared) implements Signature {
  static DeclaredSignature of(KernelSource.HandWritten source) {
    return new DeclaredSignature(nameOf(source), source.parameters());
  }

  @Override
  public Arguments named(Arguments arguments) {
    Map<String, Object> named = new LinkedHashMap<>();
    int given = arguments.values().size();
    if (given != declared.size()) {
      throw new IllegalArgumentException(
          given
              + (given == 1 ? " argument was" : " arguments were")
              + " given in order, but "
              + takes());
    }
    int position = 0;
    for (Object value : arguments.values().values()) {
      named.put(declared.get(position++).name(), value);
    }
    return Arguments.of(named);
  }

  @Override
  public List<KernelParameter> parameters(Arguments arguments, @Nullable LaunchRange asked) {
    Set<String> unknown = new LinkedHashSet<>(arguments.values().keySet());
    declared.forEach(parameter -> unknown.remove(parameter.name()));
    for (KernelParameter parameter : declared) {
      Object value = arguments.values().get(parameter.name());
      if (value == null) {
        throw new IllegalArgumentException(
            "argument '"
                + parameter.name()
                + "' is missing"
                + (unknown.isEmpty() ? "" : ", and there is no parameter " + unknown)
                + "; "
                + takes());
      }
      check(parameter, value);
    }
    if (!unknown.isEmpty()) {
      throw new IllegalArgumentException(kernel + " has no parameter " + unknown + "; " + takes());
    }
    return declared;
  }

  @Override
  public Object scalar(KernelParameter parameter, Object value) {
    return DeclaredScalar.of(kernel, parameter, value);
  }

  private static String nameOf(KernelSource.HandWritten source) {
    return switch (source) {
      case KernelSource.OpenCl opencl -> "kernel '" + opencl.entry() + "'";
      case KernelSource.Cuda cuda -> "kernel '" + cuda.entry() + "'";
      case KernelSource.CudaImage cuda -> "kernel '" + cuda.entry() + "'";
      case KernelSource.Metal metal -> "kernel '" + metal.entry() + "'";
      case KernelSource.Java _ -> "the Java kernel";
    };
  }

  private String takes() {
    String names = declared.stream().map(KernelParameter::name).collect(Collectors.joining(", "));
    return kernel
        + " takes "
        + (names.isEmpty() ? "none" : names)
        + MethodParameters.namesHint(declared)
            .map(hint -> ": " + hint + ", or pass Arguments.inOrder(...)")
            .orElse("");
  }

  private void check(KernelParameter parameter, Object value) {
    if (FileKernels.isFile(value)) {
      throw FileKernels.misplaced();
    }
    boolean isArray = !(value instanceof Number || value instanceof Boolean);
    if (isArray != parameter.access().isArray()) {
      throw new IllegalArgumentException(
          "argument '"
              + parameter.name()
              + "' is "
              + (isArray ? "an array" : "a scalar")
              + ", but "
              + kernel
              + " takes "
              + (isArray ? "a scalar" : "an array")
              + " of "
              + parameter.type());
    }
    if (isArray && !carries(parameter.type(), value)) {
      throw new IllegalArgumentException(
          "argument '"
              + parameter.name()
              + "' is "
              + (value instanceof UnifiedBuffer<?> buffer
                  ? "a buffer of " + buffer.elementType()
                  : "of type " + value.getClass().getSimpleName())
              + ", but "
              + kernel
              + " takes an array of "
              + parameter.type()
              + (value instanceof UnifiedBuffer<?> buffer
                  ? otherBuffer(buffer.elementType(), parameter.type())
                  : "; pass a "
                      + parameter.type().arrayClass().getSimpleName()
                      + ", or a buffer of "
                      + parameter.type()));
    }
    if (!isArray) {
      Objects.requireNonNull(scalar(parameter, value));
    }
  }

  /** Tells what to pass in place of a buffer of another type. */
  private static String otherBuffer(ElementType<?> given, ElementType<?> declared) {
    return given.arrayClass() == declared.arrayClass()
        ? "; pass its as(ElementType." + declared + "), the same bits"
        : "; pass a buffer of "
            + declared
            + ", because as(type) reads the same bytes and converts no value";
  }

  private static boolean carries(ElementType<?> type, Object value) {
    return value instanceof UnifiedBuffer<?> buffer
        ? buffer.elementType().equals(type)
        : type.arrayClass() == value.getClass();
  }

  @Override
  public LaunchRange range(
      List<KernelParameter> parameters, long[] lengths, @Nullable LaunchRange asked) {
    return asked != null
        ? asked
        : LaunchRange.of(LongStream.of(lengths).filter(length -> length >= 0).max().orElse(1));
  }
}

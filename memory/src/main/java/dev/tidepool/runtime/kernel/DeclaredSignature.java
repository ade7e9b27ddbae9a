package dev.tidepool.runtime.kernel;

import dev.tidepool.Arguments;
import dev.tidepool.ElementType;
import dev.tidepool.KernelParameter;
import dev.tidepool.KernelSource;
import dev.tidepool.LaunchRange;
import dev.tidepool.UnifiedBuffer;
import java.nio.file.Path;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** The signature of hand-written code, which declares it. */
record DeclaredSignature(KernelSource.HandWritten source) implements Signature {
  @Override
  public List<KernelParameter> parameters(Arguments arguments) {
    List<KernelParameter> declared = source.parameters();
    Set<String> unknown = new LinkedHashSet<>(arguments.values().keySet());
    for (KernelParameter parameter : declared) {
      unknown.remove(parameter.name());
      Object value = arguments.values().get(parameter.name());
      if (value == null) {
        throw new IllegalArgumentException(
            "argument '" + parameter.name() + "' is missing; " + takes(source));
      }
      check(parameter, value);
    }
    if (!unknown.isEmpty()) {
      throw new IllegalArgumentException(
          nameOf(source) + " has no parameter " + unknown + "; " + takes(source));
    }
    return declared;
  }

  /** The value of a scalar argument as the declared type. */
  static Object scalar(KernelSource.HandWritten source, KernelParameter parameter, Object value) {
    return DeclaredScalar.of(nameOf(source), parameter, value);
  }

  private static String nameOf(KernelSource.HandWritten source) {
    return switch (source) {
      case KernelSource.OpenCl opencl -> "kernel '" + opencl.entry() + "'";
      case KernelSource.Cuda cuda -> "kernel '" + cuda.entry() + "'";
      case KernelSource.CudaImage cuda -> "kernel '" + cuda.entry() + "'";
      case KernelSource.Java _ -> "the Java kernel";
    };
  }

  private static String takes(KernelSource.HandWritten source) {
    String names =
        source.parameters().stream().map(KernelParameter::name).collect(Collectors.joining(", "));
    return nameOf(source) + " takes " + (names.isEmpty() ? "none" : names);
  }

  private void check(KernelParameter parameter, Object value) {
    if (value instanceof Path) {
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
              + nameOf(source)
              + " takes "
              + (isArray ? "a scalar" : "an array")
              + " of "
              + parameter.type());
    }
    if (isArray && !carries(parameter.type(), value)) {
      throw new IllegalArgumentException(
          "argument '"
              + parameter.name()
              + "' holds "
              + (value instanceof UnifiedBuffer<?> buffer
                  ? buffer.elementType()
                  : value.getClass().getComponentType())
              + " elements, but "
              + nameOf(source)
              + " takes "
              + parameter.type()
              + (value instanceof UnifiedBuffer<?> ? "; use as(type) to read its bytes so" : ""));
    }
    if (!isArray) {
      Objects.requireNonNull(scalar(source, parameter, value));
    }
  }

  private static boolean carries(ElementType<?> type, Object value) {
    return value instanceof UnifiedBuffer<?> buffer
        ? buffer.elementType().equals(type)
        : type.arrayClass() == value.getClass();
  }

  @Override
  public LaunchRange range(List<Long> lengths, List<String> names, @Nullable LaunchRange asked) {
    return asked != null
        ? asked
        : LaunchRange.of(lengths.stream().mapToLong(Long::longValue).max().orElse(1));
  }

  @Override
  public boolean isolatesOverlaps() {
    return false;
  }
}

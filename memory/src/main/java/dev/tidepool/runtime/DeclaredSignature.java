package dev.tidepool.runtime;

import dev.tidepool.Arguments;
import dev.tidepool.ElementType;
import dev.tidepool.KernelParameter;
import dev.tidepool.KernelSource;
import dev.tidepool.LaunchRange;
import dev.tidepool.UnifiedBuffer;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** The signature of hand-written code, which declares it. */
record DeclaredSignature(KernelSource.HandWritten source) implements Signature {
  @Override
  public List<KernelParameter> parameters(Arguments arguments) {
    List<KernelParameter> declared = source.parameters();
    Set<String> unknown = new HashSet<>(arguments.values().keySet());
    for (KernelParameter parameter : declared) {
      unknown.remove(parameter.name());
      Object value = arguments.values().get(parameter.name());
      if (value == null) {
        throw new IllegalArgumentException(
            "argument '" + parameter.name() + "' is missing; the kernel takes " + names(declared));
      }
      check(parameter, value);
    }
    if (!unknown.isEmpty()) {
      throw new IllegalArgumentException(
          "the kernel has no parameter " + unknown + "; it takes " + names(declared));
    }
    return declared;
  }

  private static String names(List<KernelParameter> declared) {
    return declared.stream().map(KernelParameter::name).collect(Collectors.joining(", "));
  }

  private static void check(KernelParameter parameter, Object value) {
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
              + ", but the kernel takes "
              + (isArray ? "a scalar" : "an array"));
    }
    if (isArray && !carries(parameter.type(), value)) {
      throw new IllegalArgumentException(
          "argument '"
              + parameter.name()
              + "' holds "
              + (value instanceof UnifiedBuffer<?> buffer
                  ? buffer.elementType()
                  : value.getClass().getComponentType())
              + " elements, but the kernel takes "
              + parameter.type());
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

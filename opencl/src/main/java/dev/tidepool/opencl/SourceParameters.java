package dev.tidepool.opencl;

import dev.tidepool.AcceleratorException;
import dev.tidepool.ElementType;
import dev.tidepool.KernelCompilationException;
import dev.tidepool.KernelParameter;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The parameters of a kernel in its source, as the driver reports them, which must match the
 * declared parameters. Drivers report kinds and types if the kernel was built with {@code
 * -cl-kernel-arg-info}; some report only the number of parameters.
 */
final class SourceParameters {
  private static final int CL_KERNEL_ARG_ADDRESS_QUALIFIER = 0x1196;
  private static final int CL_KERNEL_ARG_TYPE_NAME = 0x1198;
  private static final int CL_KERNEL_ARG_NAME = 0x119A;

  /** Scalars of OpenCL C with their sizes. Other types, such as typedefs, are unknown. */
  private static final Map<String, Integer> SCALARS =
      Map.ofEntries(
          Map.entry("char", 1),
          Map.entry("uchar", 1),
          Map.entry("unsigned char", 1),
          Map.entry("short", 2),
          Map.entry("ushort", 2),
          Map.entry("unsigned short", 2),
          Map.entry("int", 4),
          Map.entry("uint", 4),
          Map.entry("unsigned int", 4),
          Map.entry("long", 8),
          Map.entry("ulong", 8),
          Map.entry("unsigned long", 8),
          Map.entry("half", 2),
          Map.entry("float", 4),
          Map.entry("double", 8));

  /** The address space of a pointer parameter, or a value. */
  private enum Kind {
    GLOBAL("__global "),
    LOCAL("__local "),
    CONSTANT("__constant "),
    VALUE("");

    private final String qualifier;

    Kind(String qualifier) {
      this.qualifier = qualifier;
    }
  }

  private record Parameter(Kind kind, String type, String name) {
    @Override
    public String toString() {
      return kind.qualifier + type + " " + name;
    }
  }

  private final String entry;
  private final int count;
  private final Optional<List<Parameter>> known;

  private SourceParameters(String entry, int count, Optional<List<Parameter>> known) {
    this.entry = entry;
    this.count = count;
    this.known = known;
  }

  static SourceParameters of(CompiledKernel code) {
    return code.borrowed(
        kernel ->
            new SourceParameters(
                code.entry(), code.argumentCount(), known(kernel, code.argumentCount())));
  }

  private static Optional<List<Parameter>> known(long kernel, int count) {
    List<Parameter> parameters = new ArrayList<>();
    try {
      for (int i = 0; i < count; i++) {
        Kind kind =
            switch ((int)
                NativeCall.number(
                    OpenCL.clGetKernelArgInfo(kernel, i, CL_KERNEL_ARG_ADDRESS_QUALIFIER))) {
              case 0x119B -> Kind.GLOBAL;
              case 0x119C -> Kind.LOCAL;
              case 0x119D -> Kind.CONSTANT;
              default -> Kind.VALUE;
            };
        parameters.add(
            new Parameter(
                kind,
                NativeCall.text(OpenCL.clGetKernelArgInfo(kernel, i, CL_KERNEL_ARG_TYPE_NAME)),
                NativeCall.text(OpenCL.clGetKernelArgInfo(kernel, i, CL_KERNEL_ARG_NAME))));
      }
      return Optional.of(parameters);
    } catch (AcceleratorException notAvailable) {
      return Optional.empty();
    }
  }

  /**
   * Checks that the declared parameters match those of the source. The source may have one more,
   * the last: the pointer to local memory, which launches pass.
   *
   * @throws KernelCompilationException if they do not match
   */
  void check(List<KernelParameter> declared) {
    if (count < declared.size() || count > declared.size() + 1 || hasUndeclared(declared.size())) {
      throw refusal(
          "takes "
              + count
              + (count == 1 ? " parameter" : " parameters")
              + " in its source"
              + known.map(all -> " " + listed(all)).orElse("")
              + ", but "
              + declared.size()
              + (declared.size() == 1 ? " was declared " : " were declared ")
              + listed(declared.stream().map(SourceParameters::described).toList())
              + "; declare each, in this order, except for a pointer to local memory, which is the"
              + " last");
    }
    known.ifPresent(
        all -> {
          for (int i = 0; i < declared.size(); i++) {
            check(i, all.get(i), declared.get(i));
          }
        });
  }

  /** Returns whether there is one more parameter that is known not to be local memory. */
  private boolean hasUndeclared(int declared) {
    return count == declared + 1
        && known.filter(all -> all.getLast().kind() != Kind.LOCAL).isPresent();
  }

  private void check(int index, Parameter actual, KernelParameter declared) {
    if (actual.kind() == Kind.LOCAL) {
      throw mismatch(
          index, actual, declared, "put local memory behind all others and do not declare it");
    }
    boolean isArray = actual.kind() != Kind.VALUE;
    if (isArray != declared.access().isArray()) {
      throw mismatch(
          index,
          actual,
          declared,
          isArray ? "declare it by in(), out() or inout()" : "declare it by scalar()");
    }
    String needed =
        isArray
            ? neededElement(actual.type(), declared.type())
            : neededInstead(actual.type(), declared.type());
    if (needed != null) {
      throw mismatch(index, actual, declared, needed);
    }
  }

  /** Returns the remedy if a value of a type cannot be passed as another; null if it can. */
  private static @Nullable String neededInstead(String actual, ElementType<?> declared) {
    String element = actual.replaceAll("\\d+$", "");
    if (!SCALARS.containsKey(element)) {
      return null;
    }
    if (!element.equals(actual)) {
      return "pass vectors in an array";
    }
    return actual.equals("half") ? "take a float in the source" : neededType(actual, declared);
  }

  /**
   * Returns the remedy if a pointer cannot point to elements of a type; null if it can, or if that
   * is not known. A pointer to vectors is treated like one to their scalars.
   */
  private static @Nullable String neededElement(String pointer, ElementType<?> declared) {
    String element =
        pointer
            .replaceAll("\\b(const|volatile|restrict)\\b", "")
            .replaceFirst("\\*", "")
            .strip()
            .replaceAll("\\d+$", "");
    return declared.isStruct() ? null : neededType(element, declared);
  }

  /**
   * Returns the type to declare if a scalar has another size than the declared one, or is another
   * kind of number; null if it fits or is unknown. The bits of a half are passed as a short.
   */
  private static @Nullable String neededType(String scalar, ElementType<?> declared) {
    Integer bytes = SCALARS.get(scalar);
    boolean floats = scalar.equals("float") || scalar.equals("double");
    boolean isFloating = declared.equals(ElementType.FLOAT) || declared.equals(ElementType.DOUBLE);
    if (bytes == null || (bytes == declared.byteSize() && floats == isFloating)) {
      return null;
    }
    String fitting =
        switch (scalar) {
          case "half" -> "SHORT";
          case "float" -> "FLOAT";
          case "double" -> "DOUBLE";
          default ->
              (scalar.startsWith("u") ? "UNSIGNED_" : "")
                  + switch (bytes) {
                    case 1 -> "BYTE";
                    case 2 -> "SHORT";
                    case 4 -> "INT";
                    default -> "LONG";
                  };
        };
    return "declare it " + fitting + ", or change the source";
  }

  private KernelCompilationException mismatch(
      int index, Parameter actual, KernelParameter declared, String advice) {
    return refusal(
        "has the parameter "
            + actual
            + " in its source, but parameter "
            + index
            + " was declared as "
            + described(declared)
            + "; "
            + advice);
  }

  private KernelCompilationException refusal(String what) {
    return new KernelCompilationException("kernel '" + entry + "' " + what, "");
  }

  private static String described(KernelParameter parameter) {
    return parameter.access().name().toLowerCase(Locale.ROOT)
        + " "
        + parameter.type()
        + " "
        + parameter.name();
  }

  private static String listed(List<?> parameters) {
    return parameters.stream().map(Object::toString).collect(Collectors.joining(", ", "(", ")"));
  }
}

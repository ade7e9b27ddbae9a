package dev.tidepool.metal;

import dev.tidepool.ElementType;
import dev.tidepool.KernelCompilationException;
import dev.tidepool.KernelParameter;
import dev.tidepool.metal.CompiledKernel.Binding;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Checks the declared parameters of a hand-written kernel against those of its code. */
final class SourceParameters {
  /** A scalar type of Metal's language. */
  private record Scalar(String name, long bytes, boolean floating) {}

  // MTLDataType: a scalar is followed by its vectors of 2, 3 and 4.
  private static final Map<Long, Scalar> SCALARS =
      Map.of(
          3L, new Scalar("float", 4, true),
          16L, new Scalar("half", 2, true),
          29L, new Scalar("int", 4, false),
          33L, new Scalar("uint", 4, false),
          37L, new Scalar("short", 2, false),
          41L, new Scalar("ushort", 2, false),
          45L, new Scalar("char", 1, false),
          49L, new Scalar("uchar", 1, false),
          53L, new Scalar("bool", 1, false));

  private static final Map<Long, Scalar> LONGS =
      Map.of(81L, new Scalar("long", 8, false), 85L, new Scalar("ulong", 8, false));

  private final CompiledKernel kernel;

  SourceParameters(CompiledKernel kernel) {
    this.kernel = kernel;
  }

  /**
   * Checks that the declared parameters match those of the code.
   *
   * @throws KernelCompilationException if they do not match
   */
  void check(List<KernelParameter> declared) {
    List<Binding> pointers =
        kernel.bindings().stream().filter(binding -> !binding.isGroupMemory()).toList();
    boolean fits =
        pointers.size() == declared.size()
            && pointers.stream().allMatch(binding -> binding.index() < declared.size());
    if (!fits) {
      throw refusal(
          "takes "
              + pointers.size()
              + (pointers.size() == 1 ? " parameter" : " parameters")
              + " in its source "
              + pointers.stream().map(SourceParameters::described).toList()
              + ", but "
              + declared.size()
              + (declared.size() == 1 ? " was declared " : " were declared ")
              + declared.stream().map(KernelParameter::name).toList()
              + "; declare each, in the order of their indices from 0 on; [[threadgroup(0)]] is"
              + " none");
    }
    pointers.forEach(binding -> check(binding, declared.get(binding.index())));
  }

  private void check(Binding binding, KernelParameter declared) {
    Optional<Scalar> actual = scalar(binding.dataType());
    if (actual.isEmpty()) {
      return;
    }
    ElementType<?> type = declared.type();
    boolean floating = type.equals(ElementType.FLOAT) || type.equals(ElementType.DOUBLE);
    boolean isVector = binding.dataBytes() > actual.get().bytes();
    boolean fits = actual.get().bytes() == type.byteSize() && actual.get().floating() == floating;
    if (type.isStruct() || (fits && (declared.access().isArray() || !isVector))) {
      return;
    }
    throw refusal(
        "has the parameter "
            + described(binding)
            + " in its source, but parameter "
            + binding.index()
            + " was declared as "
            + (declared.access().isArray() ? "an array" : "a scalar")
            + " of "
            + type
            + " called "
            + declared.name()
            + "; declare the type that the source has there");
  }

  private static Optional<Scalar> scalar(long dataType) {
    for (Map.Entry<Long, Scalar> entry : SCALARS.entrySet()) {
      if (dataType >= entry.getKey() && dataType < entry.getKey() + 4) {
        return Optional.of(entry.getValue());
      }
    }
    return Optional.ofNullable(LONGS.get(dataType));
  }

  private static String described(Binding binding) {
    return scalar(binding.dataType()).map(scalar -> scalar.name() + " ").orElse("")
        + binding.name()
        + " [[buffer("
        + binding.index()
        + ")]]";
  }

  private KernelCompilationException refusal(String what) {
    return new KernelCompilationException("kernel '" + kernel.entry() + "' " + what, "");
  }
}

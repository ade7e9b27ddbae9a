package dev.tidepool.methods.c;

import dev.tidepool.expression.c.Dialect;
import dev.tidepool.methods.tree.ElementKind;
import dev.tidepool.methods.tree.Function;
import dev.tidepool.methods.tree.KernelExpression.ItemNumber;
import dev.tidepool.methods.tree.Statement.AtomicOperation;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.Locale;
import java.util.Map;
import java.util.Set;

/**
 * Metal's language, compiled as {@link Dialect#METAL} says. An instance serves one kernel: it
 * records the functions that were called.
 */
public final class MetalC implements KernelLanguage {
  private static final String[] AXES = {"x", "y", "z"};

  private final Set<String> floatFunctions = new LinkedHashSet<>();
  private final Map<String, String> helpers = new LinkedHashMap<>();

  @Override
  public Dialect dialect() {
    return Dialect.METAL;
  }

  @Override
  public String header(DeviceLimits device, boolean usesLongAtomics) {
    return dialect().functions(floatFunctions) + String.join("", helpers.values());
  }

  @Override
  public String sharedPointer(String type) {
    return "threadgroup " + type + "*";
  }

  @Override
  public String sharedArray(String type, String name, int length) {
    return "threadgroup " + type + " " + name + "[" + length + "];";
  }

  @Override
  public String itemNumber(ItemNumber.Kind kind, int dimension) {
    String vector =
        switch (kind) {
          case GLOBAL_ID -> "tp_global";
          case LOCAL_ID -> "tp_local";
          case GROUP_ID -> "tp_group";
          case GROUP_SIZE -> "tp_size";
          case GLOBAL_SIZE -> throw new AssertionError(kind);
        };
    return "(long)" + vector + "." + AXES[dimension];
  }

  @Override
  public String barrier() {
    return "threadgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device);";
  }

  @Override
  public String longSuffix() {
    return "L";
  }

  @Override
  public String name(Function function) {
    return switch (function) {
      case MULTIPLY_HIGH -> helper("tp_multiply_high", MULTIPLY_HIGH);
      case BIT_COUNT_INT -> "(int)popcount";
      case BIT_COUNT_LONG -> helper("tp_bit_count", BIT_COUNT);
      case LEADING_ZEROS_INT -> "(int)clz";
      case LEADING_ZEROS_LONG -> helper("tp_leading_zeros", LEADING_ZEROS);
      case FLOAT_BITS -> "as_type<int>";
      case FLOAT_OF_BITS -> "as_type<float>";
      case FMA_FLOAT -> "fma";
      case COPY_SIGN_FLOAT -> "copysign";
      default -> floatFunction(function.method());
    };
  }

  @Override
  public String remainder(String left, String right) {
    return floatFunction("fmod") + "(" + left + ", " + right + ")";
  }

  private String floatFunction(String function) {
    String name = dialect().floatFunction(function);
    floatFunctions.add(name);
    return name;
  }

  private String helper(String name, String text) {
    helpers.put(name, text);
    return name;
  }

  @Override
  public String atomic(
      AtomicOperation operation,
      ElementKind kind,
      boolean isShared,
      String address,
      String expected,
      String value) {
    String space = isShared ? "threadgroup" : "device";
    if (operation == AtomicOperation.COMPARE_AND_SET) {
      String name = helper("tp_compare_and_set_" + space, COMPARE_AND_SET.replace("SPACE", space));
      return name + "(" + address + ", " + expected + ", " + value + ")";
    }
    return "atomic_fetch_"
        + operation.name().toLowerCase(Locale.ROOT)
        + "_explicit((volatile "
        + space
        + " atomic_int*)("
        + address
        + "), "
        + value
        + ", memory_order_relaxed)";
  }

  // The language's own compare-and-set may fail although the element has the expected value.
  private static final String COMPARE_AND_SET =
      """
      static inline int tp_compare_and_set_SPACE(volatile SPACE int* address, int expected, int value) {
        int seen = expected;
        while (!atomic_compare_exchange_weak_explicit((volatile SPACE atomic_int*)address, &seen, value,
                   memory_order_relaxed, memory_order_relaxed)
            && seen == expected) {
        }
        return seen;
      }
      """;

  // Functions of 64 bits are newer than the oldest supported version of the language.
  private static final String MULTIPLY_HIGH =
      """
      static inline long tp_multiply_high(long a, long b) {
        ulong al = (ulong)a & 0xffffffffUL;
        ulong bl = (ulong)b & 0xffffffffUL;
        long ah = a >> 32;
        long bh = b >> 32;
        ulong low = al * bl;
        long middle = ah * (long)bl + (long)(low >> 32);
        long other = (long)al * bh + (long)((ulong)middle & 0xffffffffUL);
        return ah * bh + (middle >> 32) + (other >> 32);
      }
      """;
  private static final String BIT_COUNT =
      """
      static inline int tp_bit_count(long a) {
        return (int)(popcount((uint)a) + popcount((uint)((ulong)a >> 32)));
      }
      """;
  private static final String LEADING_ZEROS =
      """
      static inline int tp_leading_zeros(long a) {
        uint high = (uint)((ulong)a >> 32);
        return high != 0 ? (int)clz(high) : 32 + (int)clz((uint)a);
      }
      """;
}

package dev.tidepool.methods.c;

import dev.tidepool.expression.c.Dialect;
import dev.tidepool.methods.tree.ElementKind;
import dev.tidepool.methods.tree.Function;
import dev.tidepool.methods.tree.KernelExpression.ItemNumber;
import dev.tidepool.methods.tree.Statement.AtomicOperation;
import java.util.Locale;

/**
 * OpenCL C 1.2.
 *
 * @param isDividedAtBarriers true for PoCL, which runs the items of a group one after another from
 *     barrier to barrier. PoCL finds these parts after LLVM has optimized the kernel. If LLVM has
 *     joined conditions of two parts, PoCL 3.1 ends the process, or lets the first item of a group
 *     decide for all
 */
public record OpenClC(boolean isDividedAtBarriers) implements KernelLanguage {
  @Override
  public Dialect dialect() {
    return Dialect.OPENCL_C;
  }

  @Override
  public String header(DeviceLimits device, boolean usesLongAtomics) {
    return usesLongAtomics
        ? """
        #pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
        #pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable
        """
        : "";
  }

  @Override
  public String sharedPointer(String type) {
    return "__local " + type + "*";
  }

  @Override
  public String sharedArray(String type, String name, int length) {
    return "__local " + type + " " + name + "[" + length + "];";
  }

  @Override
  public String itemNumber(ItemNumber.Kind kind, int dimension) {
    String function =
        switch (kind) {
          case GLOBAL_ID -> "get_global_id";
          case LOCAL_ID -> "get_local_id";
          case GROUP_ID -> "get_group_id";
          case GROUP_SIZE -> "get_local_size";
          case GLOBAL_SIZE -> throw new AssertionError(kind);
        };
    return "(long)" + function + "(" + dimension + ")";
  }

  @Override
  public String barrier() {
    return "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);";
  }

  @Override
  public String longSuffix() {
    return "L";
  }

  @Override
  public String name(Function function) {
    return switch (function) {
      case MULTIPLY_HIGH -> "mul_hi";
      case BIT_COUNT_INT -> "popcount";
      case BIT_COUNT_LONG -> "(int)popcount";
      case LEADING_ZEROS_INT -> "clz";
      case LEADING_ZEROS_LONG -> "(int)clz";
      case FLOAT_BITS -> "as_int";
      case FLOAT_OF_BITS -> "as_float";
      case DOUBLE_BITS -> "as_long";
      case DOUBLE_OF_BITS -> "as_double";
      case FMA_FLOAT, FMA_DOUBLE -> "fma";
      case COPY_SIGN_FLOAT, COPY_SIGN_DOUBLE -> "copysign";
      default -> function.method();
    };
  }

  @Override
  public String atomic(
      AtomicOperation operation,
      ElementKind kind,
      boolean isShared,
      String address,
      String expected,
      String value) {
    String prefix = kind == ElementKind.LONG ? "atom_" : "atomic_";
    return operation == AtomicOperation.COMPARE_AND_SET
        ? prefix + "cmpxchg(" + address + ", " + expected + ", " + value + ")"
        : prefix + operation.name().toLowerCase(Locale.ROOT) + "(" + address + ", " + value + ")";
  }
}

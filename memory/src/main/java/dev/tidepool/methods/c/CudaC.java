package dev.tidepool.methods.c;

import dev.tidepool.expression.c.Dialect;
import dev.tidepool.methods.tree.ElementKind;
import dev.tidepool.methods.tree.Function;
import dev.tidepool.methods.tree.KernelExpression.ItemNumber;
import dev.tidepool.methods.tree.Statement.AtomicOperation;

/** CUDA C++, compiled with the options that {@link Dialect#CUDA_C} names. */
public final class CudaC implements KernelLanguage {
  private static final String[] AXES = {"x", "y", "z"};

  @Override
  public Dialect dialect() {
    return Dialect.CUDA_C;
  }

  @Override
  public String header(DeviceLimits device, boolean usesLongAtomics) {
    return "";
  }

  @Override
  public String sharedPointer(String type) {
    return type + "*";
  }

  @Override
  public String sharedArray(String type, String name, int length) {
    return "__shared__ " + type + " " + name + "[" + length + "];";
  }

  @Override
  public String itemNumber(ItemNumber.Kind kind, int dimension) {
    String axis = AXES[dimension];
    return switch (kind) {
      case GLOBAL_ID ->
          "((long long)blockIdx."
              + axis
              + " * (long long)blockDim."
              + axis
              + " + (long long)threadIdx."
              + axis
              + ")";
      case LOCAL_ID -> "(long long)threadIdx." + axis;
      case GROUP_ID -> "(long long)blockIdx." + axis;
      case GROUP_SIZE -> "(long long)blockDim." + axis;
      case GLOBAL_SIZE -> throw new AssertionError(kind);
    };
  }

  @Override
  public String barrier() {
    return "__syncthreads();";
  }

  @Override
  public String longSuffix() {
    return "LL";
  }

  @Override
  public String name(Function function) {
    return switch (function) {
      case MULTIPLY_HIGH -> "__mul64hi";
      case BIT_COUNT_INT -> "__popc";
      case BIT_COUNT_LONG -> "__popcll";
      case LEADING_ZEROS_INT -> "__clz";
      case LEADING_ZEROS_LONG -> "__clzll";
      case FLOAT_BITS -> "__float_as_int";
      case FLOAT_OF_BITS -> "__int_as_float";
      case DOUBLE_BITS -> "__double_as_longlong";
      case DOUBLE_OF_BITS -> "__longlong_as_double";
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
    boolean isLong = kind == ElementKind.LONG;
    return switch (operation) {
      case ADD ->
          isLong
              ? "(long long)atomicAdd((unsigned long long*)"
                  + address
                  + ", (unsigned long long)"
                  + value
                  + ")"
              : "atomicAdd(" + address + ", " + value + ")";
      case MIN -> "atomicMin(" + address + ", " + value + ")";
      case MAX -> "atomicMax(" + address + ", " + value + ")";
      case COMPARE_AND_SET ->
          isLong
              ? "(long long)atomicCAS((unsigned long long*)"
                  + address
                  + ", (unsigned long long)"
                  + expected
                  + ", (unsigned long long)"
                  + value
                  + ")"
              : "atomicCAS(" + address + ", " + expected + ", " + value + ")";
    };
  }

  @Override
  public String atomicPointer(String pointer) {
    return pointer;
  }
}

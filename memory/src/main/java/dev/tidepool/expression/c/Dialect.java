package dev.tidepool.expression.c;

import dev.tidepool.expression.syntax.ScalarType;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** A dialect of C: the spelling of what differs between the dialects. */
public enum Dialect {
  /** OpenCL C 1.2 and later. */
  OPENCL_C {
    @Override
    public String typeName(ScalarType type) {
      return switch (type) {
        case BOOL, UINT8 -> "uchar";
        case INT8 -> "char";
        case INT16 -> "short";
        case UINT16 -> "ushort";
        case INT32 -> "int";
        case UINT32 -> "uint";
        case INT64 -> "long";
        case UINT64 -> "ulong";
        case FLOAT32 -> "float";
        case FLOAT64 -> "double";
      };
    }

    @Override
    public String header(boolean fp64) {
      return (fp64 ? "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n" : "")
          + "#pragma OPENCL FP_CONTRACT OFF\n";
    }

    @Override
    public String kernelQualifier() {
      return "__kernel void";
    }

    @Override
    public String pointer(String type, boolean readOnly) {
      return "__global " + (readOnly ? "const " : "") + type + "*";
    }

    @Override
    String index() {
      return "get_global_id(0)";
    }

    // PoCL's floor, ceil and rint of a constant that is not finite are undefined: its compiler
    // removes the whole kernel.
    @Override
    boolean definesRounding() {
      return true;
    }

    @Override
    public String functionQualifier() {
      return "static inline";
    }
  },

  /**
   * CUDA C++, compiled with {@code --fmad=false --prec-div=true --prec-sqrt=true --ftz=false}. Its
   * functions of doubles are within 2 ulp (CUDA C++ Programming Guide, mathematical functions).
   */
  CUDA_C {
    @Override
    public String typeName(ScalarType type) {
      return switch (type) {
        case BOOL, UINT8 -> "unsigned char";
        case INT8 -> "signed char";
        case INT16 -> "short";
        case UINT16 -> "unsigned short";
        case INT32 -> "int";
        case UINT32 -> "unsigned int";
        case INT64 -> "long long";
        case UINT64 -> "unsigned long long";
        case FLOAT32 -> "float";
        case FLOAT64 -> "double";
      };
    }

    // NVRTC compiles without any header, so the constants of math.h are missing.
    @Override
    public String header(boolean fp64) {
      return """
      #define NAN __int_as_float(0x7fc00000)
      #define INFINITY __int_as_float(0x7f800000)
      """;
    }

    @Override
    public String kernelQualifier() {
      return "extern \"C\" __global__ void";
    }

    @Override
    public String pointer(String type, boolean readOnly) {
      return (readOnly ? "const " : "") + type + "*";
    }

    @Override
    String index() {
      return "(unsigned long long)blockIdx.x * blockDim.x + threadIdx.x";
    }

    @Override
    Unrolling unrolling() {
      return new Unrolling(
          4, "(unsigned long long)blockIdx.x * blockDim.x * 4 + threadIdx.x", "blockDim.x");
    }

    @Override
    public String functionQualifier() {
      return "static __device__ __forceinline__";
    }
  },

  /**
   * Metal's language, 2.3 and later, compiled without fast math. It has no doubles, and its own
   * functions of floats are off by 4 ulp and more: {@link MetalFunctions} replaces them.
   */
  METAL {
    @Override
    public String typeName(ScalarType type) {
      return OPENCL_C.typeName(type);
    }

    // The option for fast math does not stop contraction, and its pragma is new in Metal 3.2.
    @Override
    public String header(boolean fp64) {
      return """
      #include <metal_stdlib>
      using namespace metal;
      #if __METAL_VERSION__ >= 320
      #pragma METAL fp math_mode(safe)
      #pragma METAL fp contract(off)
      #else
      #pragma clang fp contract(off)
      #endif
      """;
    }

    @Override
    public String kernelQualifier() {
      return "kernel void";
    }

    @Override
    public String pointer(String type, boolean readOnly) {
      return "device " + (readOnly ? "const " : "") + type + "*";
    }

    // One dimension of a grid holds only 2^32 items.
    @Override
    String index() {
      return "((ulong)tp_group.y * tp_groups.x + tp_group.x) * tp_size.x + tp_local.x";
    }

    @Override
    public String functionQualifier() {
      return "static inline";
    }

    @Override
    public KernelSignature signature() {
      return new PackedSignature();
    }

    @Override
    public boolean hasFloatFunctions() {
      return true;
    }

    @Override
    public String floatFunction(String name) {
      return MetalFunctions.ALL.nameOf(name);
    }

    @Override
    public String functions(Set<String> called) {
      return MetalFunctions.ALL.text(called);
    }
  };

  public abstract String typeName(ScalarType type);

  /** Returns the head of a source; floating operations must not be contracted. */
  public abstract String header(boolean fp64);

  /** Returns the text before the name of a kernel. */
  public abstract String kernelQualifier();

  /** Returns the type of a pointer to memory of the device. */
  public abstract String pointer(String type, boolean readOnly);

  /** Returns the expression for the index of the work item. */
  abstract String index();

  /** Returns the text before the type of a function that kernels call. */
  public abstract String functionQualifier();

  /**
   * How a work item computes several elements. The item loads all of them before it uses the first,
   * so a GPU uses more of its memory's bandwidth.
   *
   * @param elements the number of elements
   * @param first the expression for the index of the first
   * @param step the expression for the distance to the next
   */
  record Unrolling(int elements, String first, String step) {}

  /** Returns how a work item of a memory-bound kernel computes several elements; null for one. */
  @Nullable Unrolling unrolling() {
    return null;
  }

  /**
   * Returns whether kernels define floor, ceil and rint instead of calling those of the language.
   */
  boolean definesRounding() {
    return false;
  }

  /** Returns a new signature of a kernel, without parameters yet. */
  public KernelSignature signature() {
    return new PlainSignature();
  }

  /** Returns whether the language has all functions for floats, within 2 ulp of the exact value. */
  public boolean hasFloatFunctions() {
    return false;
  }

  /** Returns the name by which a function of floats is called. */
  public String floatFunction(String name) {
    return name;
  }

  /** Returns the text of functions that were called and that the compiler lacks. */
  public String functions(Set<String> called) {
    return "";
  }
}

package dev.tidepool.expression.c;

import dev.tidepool.expression.syntax.ScalarType;

/** A dialect of C: how it spells what the C of kernels lacks a common word for. */
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

    // NVRTC compiles without any header, so the constants of math.h are not there.
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
    public String functionQualifier() {
      return "static __device__ __forceinline__";
    }
  };

  /** The name of a type. */
  public abstract String typeName(ScalarType type);

  /** What stands at the head of a source; floating operations must not be contracted. */
  public abstract String header(boolean fp64);

  /** What stands before the name of a kernel. */
  public abstract String kernelQualifier();

  /** The type of a pointer to memory of the device. */
  public abstract String pointer(String type, boolean readOnly);

  /** The expression for the index of the work item. */
  abstract String index();

  /** What stands before the type of a function that kernels call. */
  public abstract String functionQualifier();
}

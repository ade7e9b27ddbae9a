package dev.tidepool;

import java.nio.ByteBuffer;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;

/**
 * What a kernel computes: an elementwise expression that runs everywhere, or code written by hand
 * for one kind of accelerator. Immutable; equal sources compile once.
 *
 * {@snippet :
 * KernelSource everywhere = KernelSource.elementwise("y = a * x + y");
 * KernelSource forOpenCl =
 *     KernelSource.opencl(
 *         "kernel void twice(global float *x) { x[get_global_id(0)] *= 2; }",
 *         "twice",
 *         KernelParameter.inout("x", ElementType.FLOAT));
 * }
 */
public sealed interface KernelSource {
  /**
   * Assignments that are computed for each index of equally long arrays, with NumPy's meaning:
   * {@code "y = a * x + y"}. Several are separated by {@code ;} or line ends. What is assigned is
   * written, what is named is read; an assigned name without an argument is a local value.
   */
  static KernelSource elementwise(String expression) {
    return new Elementwise(expression);
  }

  /** OpenCL C. Parameters are the entry's, in its order; local memory comes after them. */
  static KernelSource opencl(String source, String entry, KernelParameter... parameters) {
    return new OpenCl(source, entry, List.of(parameters));
  }

  /**
   * CUDA C++, or PTX: text whose first directive is {@code .version}. Parameters are the entry's,
   * in its order; local memory is the kernel's {@code extern __shared__}. An entry in C++ is
   * declared {@code extern "C"}.
   */
  static KernelSource cuda(String source, String entry, KernelParameter... parameters) {
    return new Cuda(source, entry, List.of(parameters));
  }

  /**
   * Code that a CUDA compiler made: a cubin, a fat binary, or PTX.
   *
   * @param image its bytes, which are copied
   */
  static KernelSource cuda(byte[] image, String entry, KernelParameter... parameters) {
    return new CudaImage(ByteBuffer.wrap(image), entry, List.of(parameters));
  }

  /** Java code, called once for each work item, by several threads at once. */
  static KernelSource java(JavaKernel body, KernelParameter... parameters) {
    return new Java(body, List.of(parameters));
  }

  /** An expression of the elementwise language. */
  record Elementwise(String expression) implements KernelSource {
    /** Checks that there is one. */
    public Elementwise {
      Objects.requireNonNull(expression, "expression");
    }
  }

  /** Code that declares its parameters. */
  sealed interface HandWritten extends KernelSource {
    /** The parameters in the order of the code. */
    List<KernelParameter> parameters();
  }

  /** OpenCL C with the name of its kernel function. */
  record OpenCl(String source, String entry, List<KernelParameter> parameters)
      implements HandWritten {
    /** Checks that nothing is missing and names are unique. */
    public OpenCl {
      Objects.requireNonNull(source, "source");
      Objects.requireNonNull(entry, "entry");
      parameters = unique(parameters);
    }
  }

  /** CUDA C with the name of its kernel function. */
  record Cuda(String source, String entry, List<KernelParameter> parameters)
      implements HandWritten {
    /** Checks that nothing is missing and names are unique. */
    public Cuda {
      Objects.requireNonNull(source, "source");
      Objects.requireNonNull(entry, "entry");
      parameters = unique(parameters);
    }
  }

  /** Code for CUDA devices that is compiled already, with the name of its kernel function. */
  record CudaImage(ByteBuffer image, String entry, List<KernelParameter> parameters)
      implements HandWritten {
    /** Checks that nothing is missing and names are unique; copies the bytes. */
    public CudaImage {
      image =
          ByteBuffer.allocate(image.remaining()).put(image.duplicate()).flip().asReadOnlyBuffer();
      Objects.requireNonNull(entry, "entry");
      parameters = unique(parameters);
    }

    /** The bytes, read-only. */
    @Override
    public ByteBuffer image() {
      return image.duplicate();
    }
  }

  /** A Java body. */
  record Java(JavaKernel body, List<KernelParameter> parameters) implements HandWritten {
    /** Checks that nothing is missing and names are unique. */
    public Java {
      Objects.requireNonNull(body, "body");
      parameters = unique(parameters);
    }
  }

  private static List<KernelParameter> unique(List<KernelParameter> parameters) {
    Set<String> names = new HashSet<>();
    for (KernelParameter parameter : parameters) {
      if (!names.add(parameter.name())) {
        throw new IllegalArgumentException(
            "two parameters are called '" + parameter.name() + "'; rename one");
      }
    }
    return List.copyOf(parameters);
  }
}

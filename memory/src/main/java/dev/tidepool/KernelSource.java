package dev.tidepool;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Modifier;
import java.nio.ByteBuffer;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The source of a kernel: an elementwise expression or a Java method, which run everywhere, or code
 * written by hand for one kind of accelerator. Immutable; equal sources are compiled once.
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
   * Returns a kernel of assignments that are computed for each index of equally long arrays, with
   * NumPy's meaning: {@code "y = a * x + y"}. Assignments are separated by {@code ;} or line ends.
   * A kernel writes the names that it assigns, and reads the names that it uses. An assigned name
   * without an argument is a local value.
   */
  static KernelSource elementwise(String expression) {
    return new Elementwise(expression);
  }

  /**
   * Returns a kernel in OpenCL C. Parameters are those of the entry, in its order; local memory
   * comes after them.
   */
  static KernelSource opencl(String source, String entry, KernelParameter... parameters) {
    return new OpenCl(source, entry, List.of(parameters));
  }

  /**
   * Returns a kernel in CUDA C++, or in PTX: text whose first directive is {@code .version}.
   * Parameters are those of the entry, in its order; local memory is {@code extern __shared__}. An
   * entry in C++ must be declared {@code extern "C"}.
   */
  static KernelSource cuda(String source, String entry, KernelParameter... parameters) {
    return new Cuda(source, entry, List.of(parameters));
  }

  /**
   * Returns a kernel from the output of a CUDA compiler: a cubin, a fat binary, or PTX.
   *
   * @param image the bytes, which are copied
   */
  static KernelSource cuda(byte[] image, String entry, KernelParameter... parameters) {
    return new CudaImage(ByteBuffer.wrap(image), entry, List.of(parameters));
  }

  /**
   * Returns a kernel in the Metal Shading Language. Parameters are those of the entry, in its
   * order: an array is a pointer in {@code device} or {@code constant} at its own index, a value is
   * a reference in {@code constant}. Parameter 2, for example, is {@code [[buffer(2)]]}. Local
   * memory is {@code [[threadgroup(0)]]}.
   *
   * {@snippet :
   * KernelSource forMetal =
   *     KernelSource.metal(
   *         """
   *         kernel void scale(device float* x [[buffer(0)]], constant float& a [[buffer(1)]],
   *                           uint i [[thread_position_in_grid]]) { x[i] *= a; }
   *         """,
   *         "scale",
   *         KernelParameter.inout("x", ElementType.FLOAT),
   *         KernelParameter.scalar("a", ElementType.FLOAT));
   * }
   */
  static KernelSource metal(String source, String entry, KernelParameter... parameters) {
    return new Metal(source, entry, List.of(parameters));
  }

  /**
   * Returns a kernel whose body is Java code, called once for each work item, by several threads at
   * once.
   */
  static KernelSource java(JavaKernel body, KernelParameter... parameters) {
    return new Java(body, List.of(parameters));
  }

  /**
   * Returns a static method in Java as a kernel for every accelerator. The method is called once
   * for each item, as if by several threads in any order. Its bytecode is translated when the
   * kernel is compiled.
   *
   * {@snippet :
   * final class Kernels {
   *   static void dot(WorkItem item, int dims, float[] rows, float[] query, float[] scores) {
   *     int row = (int) item.globalId(0);
   *     float sum = 0;
   *     for (int d = 0; d < dims; d++) {
   *       sum += rows[row * dims + d] * query[d];
   *     }
   *     scores[row] = sum;
   *   }
   * }
   * }
   *
   * <p>The first parameter may be a {@link WorkItem}, or an {@code int} or {@code long}, which is
   * then the item's index in a one-dimensional range. The others are numbers, booleans and
   * one-dimensional arrays of them. Arguments have the parameters' names, which class files
   * compiled with {@code -g} or {@code -parameters} contain, or are passed by {@link
   * Arguments#inOrder}. The body may use local variables, arithmetic, loops, conditions, arrays of
   * constant length, most methods of {@link Math}, the bit methods of {@link Integer}, {@link
   * Long}, {@link Float} and {@link Double}, most methods of {@link WorkItem}, and static methods
   * of the same kind. It has Java's semantics on every device: integers wrap, and an index outside
   * of an array throws an {@link ArrayIndexOutOfBoundsException} with the line of the source.
   *
   * @param lookup a lookup in the class that declares the method, with access to it
   * @throws IllegalArgumentException if the class has no such static method, has several, or the
   *     lookup cannot access it
   */
  static Method method(MethodHandles.Lookup lookup, String name) {
    return Method.of(lookup, name, null);
  }

  /** Like {@link #method(MethodHandles.Lookup, String)}, for a name that several methods have. */
  static Method method(MethodHandles.Lookup lookup, String name, MethodType type) {
    Objects.requireNonNull(type, "type");
    return Method.of(lookup, name, type);
  }

  /**
   * Like {@link #method(MethodHandles.Lookup, String)}, for a public method with {@link
   * KernelMethod}. Methods of the same name without the annotation are ignored.
   */
  static Method method(Class<?> owner, String name) {
    return Method.annotated(owner, name);
  }

  /**
   * Returns the methods of a class that have {@link KernelMethod}, by their names.
   *
   * @throws IllegalArgumentException if there is none, two have the same name, or one is not {@code
   *     static void}
   */
  static Map<String, Method> methods(Class<?> owner) {
    return Method.allAnnotated(owner);
  }

  /** An expression of the elementwise language. */
  record Elementwise(String expression) implements KernelSource {
    /** Checks that there is an expression. */
    public Elementwise {
      Objects.requireNonNull(expression, "expression");
    }
  }

  /** Code that declares its parameters. */
  sealed interface HandWritten extends KernelSource {
    /** Returns the parameters in the order of the code. */
    List<KernelParameter> parameters();
  }

  /** OpenCL C with the name of its kernel function. */
  record OpenCl(String source, String entry, List<KernelParameter> parameters)
      implements HandWritten {
    /** Checks that no component is null, and that parameter names are unique. */
    public OpenCl {
      Objects.requireNonNull(source, "source");
      Objects.requireNonNull(entry, "entry");
      parameters = unique(parameters);
    }
  }

  /** CUDA C++ or PTX with the name of its kernel function. */
  record Cuda(String source, String entry, List<KernelParameter> parameters)
      implements HandWritten {
    /** Checks that no component is null, and that parameter names are unique. */
    public Cuda {
      Objects.requireNonNull(source, "source");
      Objects.requireNonNull(entry, "entry");
      parameters = unique(parameters);
    }
  }

  /** Compiled code for CUDA devices with the name of its kernel function. */
  record CudaImage(ByteBuffer image, String entry, List<KernelParameter> parameters)
      implements HandWritten {
    /** Checks that no component is null, and that parameter names are unique; copies the bytes. */
    public CudaImage {
      image =
          ByteBuffer.allocate(image.remaining()).put(image.duplicate()).flip().asReadOnlyBuffer();
      Objects.requireNonNull(entry, "entry");
      parameters = unique(parameters);
    }

    /** Returns the bytes, read-only. */
    @Override
    public ByteBuffer image() {
      return image.duplicate();
    }
  }

  /** Code in the Metal Shading Language with the name of its kernel function. */
  record Metal(String source, String entry, List<KernelParameter> parameters)
      implements HandWritten {
    /** Checks that no component is null, and that parameter names are unique. */
    public Metal {
      Objects.requireNonNull(source, "source");
      Objects.requireNonNull(entry, "entry");
      parameters = unique(parameters);
    }
  }

  /** A body in Java. */
  record Java(JavaKernel body, List<KernelParameter> parameters) implements HandWritten {
    /** Checks that no component is null, and that parameter names are unique. */
    public Java {
      Objects.requireNonNull(body, "body");
      parameters = unique(parameters);
    }
  }

  /**
   * A static method in Java. Two sources are equal if they have the same method and the same
   * checks.
   */
  final class Method implements KernelSource {
    private final Class<?> owner;
    private final String name;
    private final MethodType type;
    private final boolean checked;

    private Method(Class<?> owner, String name, MethodType type, boolean checked) {
      this.owner = owner;
      this.name = name;
      this.type = type;
      this.checked = checked;
    }

    private static Method of(MethodHandles.Lookup lookup, String name, @Nullable MethodType type) {
      Class<?> owner = lookup.lookupClass();
      java.lang.reflect.Method found = MethodSearch.only(owner, name, type);
      try {
        Objects.requireNonNull(lookup.unreflect(found));
      } catch (IllegalAccessException e) {
        throw new IllegalArgumentException(
            MethodSearch.shown(found)
                + " cannot be accessed by "
                + lookup
                + "; pass MethodHandles.lookup() of the class that declares it",
            e);
      }
      return new Method(owner, name, MethodSearch.typeOf(found), true);
    }

    private static Method annotated(Class<?> owner, String name) {
      java.lang.reflect.Method found = MethodSearch.annotated(owner, name);
      if (!Modifier.isPublic(found.getModifiers()) || !Modifier.isPublic(owner.getModifiers())) {
        throw new IllegalArgumentException(
            MethodSearch.shown(found)
                + " or its class is not public; make both public, or use"
                + " KernelSource.method(MethodHandles.lookup(), \""
                + name
                + "\") in the class that declares it");
      }
      if (!found.isAnnotationPresent(KernelMethod.class)) {
        throw new IllegalArgumentException(
            MethodSearch.shown(found) + " has no @KernelMethod; annotate it");
      }
      return new Method(owner, name, MethodSearch.typeOf(found), true);
    }

    private static Map<String, Method> allAnnotated(Class<?> owner) {
      Map<String, Method> found = new TreeMap<>();
      for (java.lang.reflect.Method method : owner.getDeclaredMethods()) {
        if (!method.isAnnotationPresent(KernelMethod.class)) {
          continue;
        }
        MethodSearch.requireStatic(method);
        Method source = new Method(owner, method.getName(), MethodSearch.typeOf(method), true);
        if (found.put(method.getName(), source) != null) {
          throw new IllegalArgumentException(
              owner.getName()
                  + " has two kernels called '"
                  + method.getName()
                  + "'; rename one, since kernels are registered by name");
        }
      }
      if (found.isEmpty()) {
        throw new IllegalArgumentException(
            owner.getName() + " declares no method with @KernelMethod; annotate its kernels");
      }
      return found;
    }

    /**
     * Returns this kernel without checks of array indices and divisors. As in hand-written kernels,
     * an index outside of an array then reads or writes other memory, or crashes the process. On
     * the CPU it still throws.
     */
    public Method unchecked() {
      return new Method(owner, name, type, false);
    }

    /** Returns the class that declares the method. */
    public Class<?> owner() {
      return owner;
    }

    /** Returns the method's name. */
    public String name() {
      return name;
    }

    /** Returns the method's parameters and result. */
    public MethodType type() {
      return type;
    }

    /** Returns whether indices and divisors are checked. */
    public boolean isChecked() {
      return checked;
    }

    @Override
    public boolean equals(@Nullable Object other) {
      return other instanceof Method method
          && owner == method.owner
          && name.equals(method.name)
          && type.equals(method.type)
          && checked == method.checked;
    }

    @Override
    public int hashCode() {
      return Objects.hash(owner, name, type, checked);
    }

    @Override
    public String toString() {
      return "Method["
          + owner.getSimpleName()
          + "."
          + name
          + type
          + (checked ? "]" : ", unchecked]");
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

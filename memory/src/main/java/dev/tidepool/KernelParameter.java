package dev.tidepool;

import java.util.Objects;

/**
 * A parameter of a kernel.
 *
 * {@snippet :
 * KernelSource scale =
 *     KernelSource.opencl(
 *         "kernel void scale(global float *x, float a) { x[get_global_id(0)] *= a; }",
 *         "scale",
 *         KernelParameter.inout("x", ElementType.FLOAT),
 *         KernelParameter.scalar("a", ElementType.FLOAT));
 * }
 *
 * @param name the name of its argument
 * @param access how the kernel uses it
 * @param type the element type of the array, or the type of the scalar
 */
public record KernelParameter(String name, Access access, ElementType<?> type) {
  /** How a kernel uses a parameter. */
  public enum Access {
    /** An array that is only read. */
    IN,
    /** An array that is only written, every element of it. */
    OUT,
    /** An array that is read and written, or written in part. */
    INOUT,
    /** A single value. */
    SCALAR;

    /** Returns whether the parameter is an array. */
    public boolean isArray() {
      return this != SCALAR;
    }

    /** Returns whether the kernel needs the array's contents. */
    public boolean reads() {
      return this == IN || this == INOUT;
    }

    /** Returns whether the kernel changes the array. */
    public boolean writes() {
      return this == OUT || this == INOUT;
    }
  }

  /** Checks that no component is null. */
  public KernelParameter {
    Objects.requireNonNull(name, "name");
    Objects.requireNonNull(access, "access");
    Objects.requireNonNull(type, "type");
  }

  /** Returns the parameter for an array that the kernel only reads. */
  public static KernelParameter in(String name, ElementType<?> type) {
    return new KernelParameter(name, Access.IN, type);
  }

  /** Returns the parameter for an array of which the kernel writes every element and reads none. */
  public static KernelParameter out(String name, ElementType<?> type) {
    return new KernelParameter(name, Access.OUT, type);
  }

  /** Returns the parameter for an array that the kernel reads and writes, or writes in part. */
  public static KernelParameter inout(String name, ElementType<?> type) {
    return new KernelParameter(name, Access.INOUT, type);
  }

  /**
   * Returns the parameter for a single value. A launch rejects an argument that the type cannot
   * hold:
   *
   * <ul>
   *   <li>An integer type accepts integers within its range, of any Java type (also {@code 2.0},
   *       but not {@code 2.75}), and a boolean as 0 or 1. An unsigned type also accepts a negative
   *       {@code byte}, {@code short}, {@code int} or {@code long} of its own size, and uses its
   *       bits.
   *   <li>{@code FLOAT} and {@code DOUBLE} round a floating-point number, so that {@code 0.1} may
   *       be passed for a {@code FLOAT}. They reject a finite number that would become infinite,
   *       and an integer that would be rounded.
   *   <li>{@code BOOLEAN} accepts a boolean, 0 or 1.
   * </ul>
   */
  public static KernelParameter scalar(String name, ElementType<?> type) {
    return new KernelParameter(name, Access.SCALAR, type);
  }
}

package dev.tidepool.methods.tree;

import java.util.List;

/**
 * A place in the source at which a kernel may fail.
 *
 * @param id its index in {@link KernelTree#sites()}; reports of faults carry {@code id + 1}
 * @param fault what may happen there
 * @param array what messages call the array; empty for divisions
 * @param length of the array if it is constant; -1 for an argument of the launch
 * @param parameter index of the argument that is the array; -1 if none is
 * @param frames the place, and those of the calls that lead to it from the kernel, as a stack trace
 *     has them
 */
public record Site(
    int id, Fault fault, String array, int length, int parameter, List<StackTraceElement> frames) {
  /** Copies the list. */
  public Site {
    frames = List.copyOf(frames);
  }

  /** Returns the place itself. */
  public StackTraceElement frame() {
    return frames.getFirst();
  }

  /** What may happen. */
  public enum Fault {
    /** An {@link ArrayIndexOutOfBoundsException}. */
    INDEX,
    /** An {@link ArithmeticException}: an integer is divided by zero. */
    DIVISION
  }
}

package dev.tidepool.methods.tree;

import java.util.List;

/**
 * A place in the source at which a kernel may fail.
 *
 * @param id its index in {@link KernelTree#sites()}; reports of faults carry {@code id + 1}
 * @param fault what may happen there
 * @param array the array's name in messages; empty for divisions
 * @param length the array's length if it is constant; -1 for an argument of the launch
 * @param parameter the index of the argument that is the array; -1 if there is none
 * @param frames the place, and the places of the calls that lead to it from the kernel, as in a
 *     stack trace
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

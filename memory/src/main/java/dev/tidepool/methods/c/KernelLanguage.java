package dev.tidepool.methods.c;

import dev.tidepool.expression.c.Dialect;
import dev.tidepool.methods.tree.ElementKind;
import dev.tidepool.methods.tree.Function;
import dev.tidepool.methods.tree.KernelExpression.ItemNumber;
import dev.tidepool.methods.tree.Statement.AtomicOperation;

/** A C-like language: the texts of what kernels need beyond common C. */
public interface KernelLanguage {
  /** Returns the dialect, which names types and qualifies functions. */
  Dialect dialect();

  /**
   * Returns the text at the head of a source, after the dialect's header. Called after all calls of
   * the source have been written.
   */
  String header(DeviceLimits device, boolean usesLongAtomics);

  /** Returns the type of a pointer to memory that a group shares. */
  String sharedPointer(String type);

  /** Declares an array that a group shares, within a kernel. */
  String sharedArray(String type, String name, int length);

  /** Returns a number of the item; never {@code GLOBAL_SIZE}, which is a parameter. */
  String itemNumber(ItemNumber.Kind kind, int dimension);

  /** Returns the statement that waits for the items of the group. */
  String barrier();

  /**
   * Returns whether the compiler divides a kernel at its barriers after it has optimized the whole
   * kernel. If so, conditions and loop rounds with barriers end with a further barrier, which keeps
   * the parts apart, and a condition with barriers in both branches is written as two conditions.
   */
  default boolean isDividedAtBarriers() {
    return false;
  }

  /** Returns the suffix of a constant of 64 bits. */
  String longSuffix();

  /** Returns the name of a function of the language; a cast may precede it. */
  String name(Function function);

  /** Returns a call of a function of the language. */
  default String call(Function function, String... arguments) {
    return name(function) + "(" + String.join(", ", arguments) + ")";
  }

  /**
   * Returns an atomic operation on ints or longs; its value is the previous element.
   *
   * @param isShared whether the element is in memory that a group shares
   * @param address a pointer to the element
   * @param expected the value that a compare-and-set expects; empty for others
   */
  String atomic(
      AtomicOperation operation,
      ElementKind kind,
      boolean isShared,
      String address,
      String expected,
      String value);

  /** Returns an atomic compare-and-set of an int; its value is the previous int. */
  default String compareAndSet(boolean isShared, String address, String expected, String value) {
    return atomic(
        AtomicOperation.COMPARE_AND_SET, ElementKind.INT, isShared, address, expected, value);
  }

  /** Returns the remainder of a division that rounds to zero. */
  default String remainder(String left, String right) {
    return "fmod(" + left + ", " + right + ")";
  }

  /** Qualifies a pointer that atomic operations take. */
  default String atomicPointer(String pointer) {
    return "volatile " + pointer;
  }
}

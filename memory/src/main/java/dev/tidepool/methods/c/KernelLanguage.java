package dev.tidepool.methods.c;

import dev.tidepool.expression.c.Dialect;
import dev.tidepool.methods.tree.ElementKind;
import dev.tidepool.methods.tree.Function;
import dev.tidepool.methods.tree.KernelExpression.ItemNumber;
import dev.tidepool.methods.tree.Statement.AtomicOperation;

/** A language like C: how it says what kernels need and C has no word for. */
public interface KernelLanguage {
  /** How it names types and qualifies functions. */
  Dialect dialect();

  /**
   * Returns what stands at the head of a source, besides the dialect's header. Asked for when all
   * calls of the source have been written.
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
   * Returns whether the compiler divides a kernel at its barriers, after it has optimized all of
   * it. Then conditions and rounds of loops around barriers end with another one, which keeps the
   * parts apart, and a condition with barriers in both of its parts is two conditions.
   */
  default boolean isDividedAtBarriers() {
    return false;
  }

  /** Returns the suffix of a constant of 64 bits. */
  String longSuffix();

  /** The name of a function that the language has; a cast may stand before it. */
  String name(Function function);

  /** A call of a function that the language has. */
  default String call(Function function, String... arguments) {
    return name(function) + "(" + String.join(", ", arguments) + ")";
  }

  /**
   * Returns an atomic operation on ints or longs; its value is the element before.
   *
   * @param isShared whether the element is in memory that a group shares
   * @param address a pointer to the element
   * @param expected what a compare-and-set expects; empty for others
   */
  String atomic(
      AtomicOperation operation,
      ElementKind kind,
      boolean isShared,
      String address,
      String expected,
      String value);

  /** Returns an atomic compare-and-set of an int; its value is the int before. */
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

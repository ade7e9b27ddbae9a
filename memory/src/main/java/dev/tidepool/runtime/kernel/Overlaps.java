package dev.tidepool.runtime.kernel;

import dev.tidepool.ElementType;
import dev.tidepool.KernelParameter;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.runtime.buffer.BufferHandle;
import dev.tidepool.runtime.buffer.MemoryRange;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Finds the array arguments of a launch that share memory, and refuses some of them. */
final class Overlaps {
  private Overlaps() {}

  /** Returns whether two arguments are one array, or the same elements of one buffer. */
  @SuppressWarnings("ReferenceEquality") // Equal buffers are two places to copy to.
  static boolean isSame(@Nullable Object first, @Nullable Object second) {
    return first == second
        || (first instanceof BufferHandle<?> one
            && second instanceof BufferHandle<?> two
            && one.elementType().equals(two.elementType())
            && isSameRange(one, two));
  }

  private static boolean isSameRange(BufferHandle<?> first, BufferHandle<?> second) {
    return first.storage() == second.storage()
        && first.from() == second.from()
        && first.to() == second.to();
  }

  /**
   * Returns whether items of an elementwise kernel would see the writes of other items, because
   * items run in any order. An item may read an element and write it.
   */
  static boolean clash(LaunchArgument first, LaunchArgument second) {
    BufferHandle<?> one = first.buffer();
    BufferHandle<?> other = second.buffer();
    return MemoryRange.overlap(one, other)
        && ((first.isWritten() && second.isWritten())
            || !(isSameRange(one, other) || MemoryRange.of(one).equals(MemoryRange.of(other))));
  }

  /** Returns the error for two arrays that a kernel writes. */
  static IllegalArgumentException bothWritten(KernelParameter first, KernelParameter second) {
    return new IllegalArgumentException(
        "'"
            + first.name()
            + "' and '"
            + second.name()
            + "' are both written and overlap; pass arrays or buffers that do not");
  }

  /**
   * Returns whether two buffers of one device have separate copies there, even if they share
   * memory.
   */
  static boolean areApart(BufferHandle<?> first, BufferHandle<?> second) {
    return first.storage() != second.storage()
        && !(first.storage().coherence().backing().isShared()
            && second.storage().coherence().backing().isShared());
  }

  /**
   * Checks two arguments of which the device has separate copies, so that writes of the kernel to
   * one would not be visible in the other.
   *
   * @param isolates whether the kernel must see arrays that are only read as they were before
   * @throws IllegalArgumentException if both have bytes in common, and the copies would differ
   */
  static void checkCopies(
      KernelParameter first,
      Object firstValue,
      KernelParameter second,
      Object secondValue,
      boolean isolates) {
    boolean areWritten = first.access().writes() && second.access().writes();
    boolean isAnyWritten = first.access().writes() || second.access().writes();
    if ((areWritten || (isAnyWritten && !isolates))
        && overlap(first.type(), firstValue, second.type(), secondValue)) {
      throw new IllegalArgumentException(
          "'%s' and '%s' overlap, '%s' is written, and each is copied to the accelerator on its own; pass arrays or buffers that do not overlap, or parts of one buffer of the kernel's manager"
              .formatted(
                  first.name(),
                  second.name(),
                  second.access().writes() ? second.name() : first.name()));
    }
  }

  private static boolean overlap(
      ElementType<?> firstType, Object first, ElementType<?> secondType, Object second) {
    if (first instanceof BufferHandle<?> one && second instanceof BufferHandle<?> other) {
      return MemoryRange.overlap(one, other);
    }
    return range(firstType, first).overlaps(range(secondType, second));
  }

  private static <A> MemoryRange range(ElementType<A> type, Object value) {
    return value instanceof UnifiedBuffer<?> buffer
        ? MemoryRange.of(buffer)
        : MemoryRange.ofArray(type, type.arrayClass().cast(value));
  }

  /**
   * Checks that no written array overlaps one that decides which barriers items reach.
   *
   * @param deciding names of parameters
   * @throws IllegalArgumentException that names both
   */
  static void checkBarriers(List<LaunchArgument> arrays, Set<String> deciding) {
    if (deciding.isEmpty()) {
      return;
    }
    for (LaunchArgument read : arrays) {
      if (!deciding.contains(read.parameter().name())) {
        continue;
      }
      for (LaunchArgument written : arrays) {
        if (written.isWritten() && MemoryRange.overlap(read.buffer(), written.buffer())) {
          throw new IllegalArgumentException(
              "'%s' and '%s' overlap, but elements of '%s' decide which items come to a barrier, and '%s' is written; pass arrays or buffers that do not overlap"
                  .formatted(
                      read.parameter().name(),
                      written.parameter().name(),
                      read.parameter().name(),
                      written.parameter().name()));
        }
      }
    }
  }
}

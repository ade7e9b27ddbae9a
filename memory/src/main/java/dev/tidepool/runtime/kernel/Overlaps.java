package dev.tidepool.runtime.kernel;

import dev.tidepool.KernelParameter;
import dev.tidepool.runtime.buffer.BufferHandle;
import dev.tidepool.runtime.kernel.KernelLaunch.Placed;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Which array arguments of a launch are the same memory, and which of these launches refuse. */
final class Overlaps {
  private Overlaps() {}

  /** Whether two arguments are one array, or the same elements of one buffer. */
  @SuppressWarnings("ReferenceEquality") // Equal buffers are two places to copy to.
  static boolean isSame(@Nullable Object first, @Nullable Object second) {
    return first == second
        || (first instanceof BufferHandle<?> one
            && second instanceof BufferHandle<?> two
            && one.elementType().equals(two.elementType())
            && isSameRange(one, two));
  }

  /** Whether two buffers have a byte in common. */
  static boolean overlap(BufferHandle<?> first, BufferHandle<?> second) {
    return first.storage() == second.storage()
        && first.from() < second.to()
        && second.from() < first.to();
  }

  private static boolean isSameRange(BufferHandle<?> first, BufferHandle<?> second) {
    return first.storage() == second.storage()
        && first.from() == second.from()
        && first.to() == second.to();
  }

  /**
   * Whether items of an elementwise kernel, which run in any order, would see the writes of others.
   * An item may read an element and write it.
   */
  static boolean clash(Placed first, Placed second) {
    boolean areWritten = writes(first) && writes(second);
    return overlap(first.buffer(), second.buffer())
        && (areWritten || !isSameRange(first.buffer(), second.buffer()));
  }

  private static boolean writes(Placed array) {
    return array.parameter().access().writes();
  }

  /** The error for two arrays that a kernel writes. */
  static IllegalArgumentException bothWritten(KernelParameter first, KernelParameter second) {
    return new IllegalArgumentException(
        "'"
            + first.name()
            + "' and '"
            + second.name()
            + "' are both written and overlap; pass arrays or buffers that do not");
  }

  /**
   * Checks two arguments that travel to the device. Each is copied on its own, so one would not see
   * what the kernel writes to the other.
   *
   * @param isolates whether the kernel must see what is only read as it was before
   * @throws IllegalArgumentException if both are parts of one buffer, and the copies would differ
   */
  static void checkCopies(
      KernelParameter first,
      @Nullable Object firstValue,
      KernelParameter second,
      Object secondValue,
      boolean isolates) {
    if (!(firstValue instanceof BufferHandle<?> one)
        || !(secondValue instanceof BufferHandle<?> two)
        || !overlap(one, two)) {
      return;
    }
    boolean areWritten = first.access().writes() && second.access().writes();
    boolean isAnyWritten = first.access().writes() || second.access().writes();
    if (areWritten || (isAnyWritten && !isolates)) {
      throw new IllegalArgumentException(
          "'%s' and '%s' overlap, '%s' is written, and both are copied to another accelerator, each on its own; pass buffers that do not overlap, or copy the whole buffer there and pass parts of the copy"
              .formatted(
                  first.name(),
                  second.name(),
                  second.access().writes() ? second.name() : first.name()));
    }
  }

  /**
   * Checks that no array that is written overlaps one that decides how items come to a barrier.
   *
   * @param deciding names of parameters
   * @throws IllegalArgumentException that names both
   */
  static void checkBarriers(List<Placed> placed, Set<String> deciding) {
    for (Placed read : placed) {
      if (!deciding.contains(read.parameter().name())) {
        continue;
      }
      for (Placed written : placed) {
        if (writes(written) && overlap(read.buffer(), written.buffer())) {
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

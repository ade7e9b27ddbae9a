package dev.tidepool.methods.c;

import dev.tidepool.UnsupportedKernelException;
import dev.tidepool.methods.analysis.KernelMemory;
import dev.tidepool.methods.tree.KernelArray;
import dev.tidepool.methods.tree.KernelTree;
import dev.tidepool.methods.tree.Site;
import java.util.Comparator;
import org.jspecify.annotations.Nullable;

/**
 * The capabilities of a device.
 *
 * @param fp64 whether it has doubles
 * @param exactFloatDivision whether {@code /} and {@code sqrt} of floats are correctly rounded
 * @param longAtomics whether it has atomic operations of 64 bits
 * @param itemMemory the most bytes of an item's own memory
 * @param groupMemory the most bytes that the items of a group may share
 * @param name the device's name in messages
 */
public record DeviceLimits(
    boolean fp64,
    boolean exactFloatDivision,
    boolean longAtomics,
    long itemMemory,
    long groupMemory,
    String name) {

  /**
   * Refuses a kernel whose arrays of constant length need more memory than the device has.
   *
   * @throws UnsupportedKernelException if they do; the message says how much there is
   */
  void requireMemoryFor(KernelTree tree) {
    KernelMemory memory = KernelMemory.of(tree);
    if (memory.item() > itemMemory) {
      throw tooLarge(
          tree,
          largest(memory, KernelArray.Private.class),
          "an item needs " + memory.item() + " bytes of its own there, and may have " + itemMemory);
    }
    if (memory.group() > groupMemory) {
      throw tooLarge(
          tree,
          largest(memory, KernelArray.Shared.class),
          "a group needs "
              + memory.group()
              + " bytes of memory there, and may have "
              + groupMemory);
    }
  }

  private static String largest(KernelMemory memory, Class<? extends KernelArray> kind) {
    return memory.arrays().stream()
        .filter(kind::isInstance)
        .max(Comparator.comparingLong(KernelMemory::bytes))
        .map(KernelArray::name)
        .orElse("its variables");
  }

  private UnsupportedKernelException tooLarge(KernelTree tree, String array, String why) {
    StackTraceElement use =
        tree.sites().stream()
            .filter(site -> site.array().equals(array))
            .map(Site::frame)
            .findFirst()
            .orElse(null);
    return refuse(
        tree,
        use,
        array + " is too large for ",
        ": " + why,
        "use smaller arrays, or another device, such as the CPU");
  }

  /**
   * Returns an error about a construct; the device's name follows {@code what}.
   *
   * @param place null if it is not known
   */
  UnsupportedKernelException refuse(
      KernelTree tree, @Nullable StackTraceElement place, String what, String why, String remedy) {
    String type = place == null ? tree.className() : place.getClassName();
    int line = place == null ? 0 : place.getLineNumber();
    return new UnsupportedKernelException(
        type.substring(type.lastIndexOf('.') + 1).replace('$', '.')
            + "."
            + (place == null ? tree.methodName() : place.getMethodName())
            + (line > 0 ? ", line " + line : "")
            + ": "
            + what
            + name
            + why
            + "; "
            + remedy);
  }
}

package dev.tidepool.methods.c;

import dev.tidepool.KernelCompilationException;
import dev.tidepool.methods.analysis.KernelMemory;
import dev.tidepool.methods.tree.KernelArray;
import dev.tidepool.methods.tree.KernelTree;
import dev.tidepool.methods.tree.Site;
import java.util.Comparator;

/**
 * What a device can do.
 *
 * @param fp64 whether it has doubles
 * @param exactFloatDivision whether {@code /} and {@code sqrt} of floats are correctly rounded
 * @param longAtomics whether it has atomic operations of 64 bits
 * @param itemMemory the bytes that an item may have of its own
 * @param groupMemory the bytes that the items of a group may share
 * @param name what messages call it
 */
public record DeviceLimits(
    boolean fp64,
    boolean exactFloatDivision,
    boolean longAtomics,
    long itemMemory,
    long groupMemory,
    String name) {

  /**
   * Refuses a kernel whose arrays of constant length need more memory than there is.
   *
   * @throws KernelCompilationException that says how much there is
   */
  void requireMemoryFor(KernelTree tree) {
    KernelMemory memory = KernelMemory.of(tree);
    if (memory.item() > itemMemory) {
      throw tooLarge(
          tree,
          largest(memory, KernelArray.Private.class),
          "an item needs %d bytes of its own there, and may have %d"
              .formatted(memory.item(), itemMemory));
    }
    if (memory.group() > groupMemory) {
      throw tooLarge(
          tree,
          largest(memory, KernelArray.Shared.class),
          "a group needs %d bytes of memory there, and may have %d"
              .formatted(memory.group(), groupMemory));
    }
  }

  private static String largest(KernelMemory memory, Class<? extends KernelArray> kind) {
    return memory.arrays().stream()
        .filter(kind::isInstance)
        .max(Comparator.comparingLong(KernelMemory::bytes))
        .map(KernelArray::name)
        .orElse("its variables");
  }

  private KernelCompilationException tooLarge(KernelTree tree, String array, String why) {
    StackTraceElement use =
        tree.sites().stream()
            .filter(site -> site.array().equals(array))
            .map(Site::frame)
            .findFirst()
            .orElse(new StackTraceElement(tree.className(), tree.methodName(), null, -1));
    String type = use.getClassName().substring(use.getClassName().lastIndexOf('.') + 1);
    return new KernelCompilationException(
        type.replace('$', '.')
            + "."
            + use.getMethodName()
            + (use.getLineNumber() > 0 ? ", line " + use.getLineNumber() : "")
            + ": "
            + array
            + " is too large for "
            + name
            + ": "
            + why
            + "; use smaller arrays, or another device, such as the CPU",
        "");
  }
}

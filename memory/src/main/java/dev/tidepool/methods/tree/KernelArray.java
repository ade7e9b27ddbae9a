package dev.tidepool.methods.tree;

/**
 * An array that a kernel uses. The array of a load or store is known when the kernel is compiled.
 */
public sealed interface KernelArray {
  /** Returns the type of its elements. */
  ElementKind kind();

  /** Returns its name in messages. */
  String name();

  /**
   * An argument of the launch.
   *
   * @param index the index among the kernel's parameters
   */
  record Argument(int index, ElementKind kind, String name) implements KernelArray {}

  /**
   * Memory of one item, of constant length; {@link Statement.Clear} zeroes it.
   *
   * @param id unique among private arrays of the tree
   */
  record Private(int id, ElementKind kind, int length) implements KernelArray {
    @Override
    public String name() {
      return "new " + kind.name().toLowerCase(java.util.Locale.ROOT) + "[" + length + "]";
    }
  }

  /**
   * Memory that the items of a group share, of constant length, with undefined contents.
   *
   * @param id unique among shared arrays of the tree
   */
  record Shared(int id, ElementKind kind, int length) implements KernelArray {
    @Override
    public String name() {
      return "local " + kind.name().toLowerCase(java.util.Locale.ROOT) + "s(" + length + ")";
    }
  }
}

package dev.tidepool.methods.analysis;

import dev.tidepool.methods.tree.KernelArray;
import dev.tidepool.methods.tree.KernelTree;
import dev.tidepool.methods.tree.Statement;
import dev.tidepool.methods.tree.Variable;
import dev.tidepool.methods.tree.Walk;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.Set;

/**
 * The memory that a kernel needs besides its arguments, in bytes.
 *
 * @param item the memory of each item: its own arrays and, if the kernel has barriers, its
 *     variables
 * @param group the memory that the items of a group share
 * @param arrays all arrays that are not arguments
 */
public record KernelMemory(long item, long group, Set<KernelArray> arrays) {
  /** The largest alignment of a shared array; PoCL uses 128 bytes. */
  private static final long ALIGNMENT = 128;

  /** Copies the set. */
  public KernelMemory {
    arrays = Set.copyOf(arrays);
  }

  /** Returns the memory of a kernel. */
  public static KernelMemory of(KernelTree tree) {
    Set<KernelArray> arrays = new LinkedHashSet<>();
    Set<Variable> variables = new HashSet<>();
    Walk.statements(
        tree.body(),
        statement -> {
          KernelArray array = Walk.array(statement);
          if (array != null && !(array instanceof KernelArray.Argument)) {
            arrays.add(array);
          }
          Variable target = Walk.target(statement);
          if (target != null) {
            variables.add(target);
          }
        });
    boolean waits = Walk.any(tree.body(), Statement.Barrier.class::isInstance);
    long item = waits ? (long) variables.size() * Long.BYTES : 0;
    long group = 0;
    for (KernelArray array : arrays) {
      if (array instanceof KernelArray.Shared) {
        group += (bytes(array) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
      } else {
        item += bytes(array);
      }
    }
    return new KernelMemory(item, group, arrays);
  }

  /** Returns the bytes of an array of constant length. */
  public static long bytes(KernelArray array) {
    long length =
        switch (array) {
          case KernelArray.Private own -> own.length();
          case KernelArray.Shared shared -> shared.length();
          case KernelArray.Argument _ -> throw new AssertionError(array);
        };
    return length * array.kind().bytes();
  }
}

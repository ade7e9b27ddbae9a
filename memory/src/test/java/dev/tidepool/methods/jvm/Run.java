package dev.tidepool.methods.jvm;

import dev.tidepool.LaunchRange;
import dev.tidepool.methods.tree.KernelTree;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.reflect.Array;

/** Runs kernels over arrays of the heap: their elements go to native memory and come back. */
final class Run {
  private Run() {}

  /** Runs all groups of a checked kernel. */
  static void all(KernelTree tree, LaunchRange range, Object... arguments) {
    all(JvmKernel.compile(tree), range, arguments);
  }

  static void all(JvmKernel kernel, LaunchRange range, Object... arguments) {
    MemorySegment[] arrays = new MemorySegment[arguments.length];
    Object[] scalars = new Object[arguments.length];
    try (Arena arena = Arena.ofShared()) {
      for (int i = 0; i < arguments.length; i++) {
        if (arguments[i].getClass().isArray()) {
          MemorySegment heap = heap(arguments[i]);
          arrays[i] = arena.allocate(heap.byteSize(), 64).copyFrom(heap);
        } else {
          scalars[i] = arguments[i];
        }
      }
      kernel.run(arrays, scalars, range, 0, new GroupGrid(range).groups());
      for (int i = 0; i < arguments.length; i++) {
        if (arrays[i] != null && !(arguments[i] instanceof boolean[])) {
          heap(arguments[i]).copyFrom(arrays[i]);
        } else if (arrays[i] != null) {
          for (int j = 0; j < Array.getLength(arguments[i]); j++) {
            Array.setBoolean(arguments[i], j, arrays[i].get(ValueLayout.JAVA_BYTE, j) != 0);
          }
        }
      }
    }
  }

  static MemorySegment heap(Object array) {
    return switch (array) {
      case byte[] bytes -> MemorySegment.ofArray(bytes);
      case short[] shorts -> MemorySegment.ofArray(shorts);
      case int[] ints -> MemorySegment.ofArray(ints);
      case long[] longs -> MemorySegment.ofArray(longs);
      case float[] floats -> MemorySegment.ofArray(floats);
      case double[] doubles -> MemorySegment.ofArray(doubles);
      case boolean[] truths -> {
        byte[] bytes = new byte[truths.length];
        for (int i = 0; i < bytes.length; i++) {
          bytes[i] = (byte) (truths[i] ? 1 : 0);
        }
        yield MemorySegment.ofArray(bytes);
      }
      default -> throw new IllegalArgumentException(array.toString());
    };
  }
}

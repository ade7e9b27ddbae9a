package dev.tidepool.methods.jvm;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.LaunchRange;
import dev.tidepool.host.HostBlock;
import dev.tidepool.host.HostRequest;
import dev.tidepool.host.MemoryAllocator;
import dev.tidepool.methods.tree.KernelTree;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Runs kernels over arrays of the heap: their elements go to native memory and come back. Each is
 * run in memory that may end and in memory that is held, for which there is other code, and does
 * the same.
 */
final class Run {
  private static final MemoryAllocator ALLOCATOR = new MemoryAllocator();

  private Run() {}

  /** Runs all groups of a kernel. */
  static void all(KernelTree tree, LaunchRange range, Object... arguments) {
    all(JvmKernel.compile(tree), range, arguments);
  }

  static void all(JvmKernel kernel, LaunchRange range, Object... arguments) {
    MemorySegment[] foreign = new MemorySegment[arguments.length];
    MemorySegment[] own = new MemorySegment[arguments.length];
    List<HostBlock> blocks = new ArrayList<>();
    try (Arena arena = Arena.ofShared()) {
      for (int i = 0; i < arguments.length; i++) {
        if (arguments[i].getClass().isArray()) {
          MemorySegment heap = heap(arguments[i]);
          foreign[i] = arena.allocate(heap.byteSize(), 64).copyFrom(heap);
          HostBlock block = ALLOCATOR.allocate(HostRequest.of(heap.byteSize()));
          blocks.add(block);
          own[i] = block.segment().copyFrom(heap);
        }
      }
      @Nullable RuntimeException failure = failureOf(kernel, false, range, foreign, arguments);
      @Nullable RuntimeException ownFailure = failureOf(kernel, true, range, own, arguments);
      assertThat(String.valueOf(ownFailure)).isEqualTo(String.valueOf(failure));
      for (int i = 0; i < arguments.length; i++) {
        if (foreign[i] != null) {
          assertThat(own[i].mismatch(foreign[i])).as("argument %d", i).isEqualTo(-1);
          copyBack(own[i], arguments[i]);
        }
      }
      if (ownFailure != null) {
        throw ownFailure;
      }
    } finally {
      blocks.forEach(HostBlock::free);
    }
  }

  private static @Nullable RuntimeException failureOf(
      JvmKernel kernel,
      boolean held,
      LaunchRange range,
      MemorySegment[] arrays,
      Object[] arguments) {
    Object[] scalars = new Object[arguments.length];
    for (int i = 0; i < arguments.length; i++) {
      scalars[i] = arrays[i] == null ? arguments[i] : null;
    }
    try {
      kernel.run(held, arrays, scalars, range, 0, new GroupGrid(range).groups());
      return null;
    } catch (RuntimeException e) {
      return e;
    }
  }

  private static void copyBack(MemorySegment memory, Object array) {
    if (array instanceof boolean[] truths) {
      for (int i = 0; i < truths.length; i++) {
        truths[i] = memory.get(ValueLayout.JAVA_BYTE, i) != 0;
      }
    } else {
      heap(array).copyFrom(memory);
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

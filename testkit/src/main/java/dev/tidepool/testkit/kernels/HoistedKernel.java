package dev.tidepool.testkit.kernels;

import dev.tidepool.ElementType;
import dev.tidepool.KernelSource;
import dev.tidepool.LaunchRange;
import dev.tidepool.methods.analysis.RangeChecks;
import dev.tidepool.methods.bytecode.MethodReader;
import dev.tidepool.methods.jvm.GroupGrid;
import dev.tidepool.methods.jvm.JvmKernel;
import dev.tidepool.methods.tree.KernelTree;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.reflect.Array;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A kernel with the range check in front that devices get, run by this virtual machine. The virtual
 * machine checks the accesses without range checks. It throws another exception than kernels do
 * where a device would access memory outside of the array.
 */
final class HoistedKernel {
  private final JvmKernel kernel;

  private HoistedKernel(JvmKernel kernel) {
    this.kernel = kernel;
  }

  /** Returns a kernel for which devices get a range check in front; empty for others. */
  static Optional<HoistedKernel> of(KernelSource.Method source) {
    KernelTree tree = MethodReader.read(source);
    KernelTree hoisted = RangeChecks.hoisted(tree);
    return hoisted.equals(tree)
        ? Optional.empty()
        : Optional.of(new HoistedKernel(JvmKernel.compile(hoisted)));
  }

  /** Runs all items. */
  void run(Object[] arguments, LaunchRange range) {
    @Nullable MemorySegment[] arrays = new MemorySegment[arguments.length];
    @Nullable Object[] scalars = new Object[arguments.length];
    try (Arena arena = Arena.ofConfined()) {
      List<Runnable> copiesBack = new ArrayList<>();
      for (int i = 0; i < arguments.length; i++) {
        Optional<ElementType<?>> elements = ElementType.ofArray(arguments[i].getClass());
        if (elements.isPresent()) {
          int first = List.of(arguments).indexOf(arguments[i]);
          arrays[i] =
              first < i ? arrays[first] : copied(elements.get(), arguments[i], arena, copiesBack);
        } else {
          scalars[i] = arguments[i];
        }
      }
      kernel.run(false, arrays, scalars, range, 0, new GroupGrid(range).groups());
      copiesBack.forEach(Runnable::run);
    }
  }

  private static <A> MemorySegment copied(
      ElementType<A> type, Object argument, Arena arena, List<Runnable> copiesBack) {
    A array = type.arrayClass().cast(argument);
    int length = Array.getLength(array);
    MemorySegment memory = arena.allocate(length * type.byteSize(), type.byteSize());
    type.write(array, 0, memory, 0, length);
    copiesBack.add(() -> type.read(memory, 0, array, 0, length));
    return memory;
  }
}

package dev.tidepool.testkit.simulated;

import dev.tidepool.KernelParameter;
import dev.tidepool.KernelSource;
import dev.tidepool.LaunchRange;
import dev.tidepool.methods.bytecode.MethodReader;
import dev.tidepool.methods.jvm.JvmKernel;
import java.lang.foreign.MemorySegment;
import java.util.List;

/** A Java method, run on the queue's thread by the same generated code as on the CPU. */
final class MethodCode implements SimulatedProgram.Code {
  private final JvmKernel kernel;

  MethodCode(KernelSource.Method source) {
    kernel = JvmKernel.compile(MethodReader.read(source));
  }

  @Override
  public long bytesNeeded(KernelParameter parameter, LaunchRange range) {
    return 0; // only the method knows
  }

  @Override
  public boolean reportsFaults() {
    return true;
  }

  @Override
  public void run(List<Object> arguments, LaunchRange range) {
    int parameters = arguments.size() - 1;
    MemorySegment[] arrays = new MemorySegment[parameters];
    Object[] scalars = new Object[parameters];
    for (int i = 0; i < arrays.length; i++) {
      if (arguments.get(i) instanceof MemorySegment segment) {
        arrays[i] = segment;
      } else {
        scalars[i] = arguments.get(i);
      }
    }
    MemorySegment status = (MemorySegment) arguments.getLast();
    kernel.report(arrays, scalars, range, status);
  }
}

package dev.tidepool.cpu;

import dev.tidepool.KernelParameter;
import dev.tidepool.KernelSource;
import dev.tidepool.host.HostBlock;
import dev.tidepool.methods.bytecode.MethodReader;
import dev.tidepool.methods.jvm.GroupGrid;
import dev.tidepool.methods.jvm.JvmKernel;
import dev.tidepool.spi.KernelArgument;
import dev.tidepool.spi.Launch;
import java.lang.foreign.MemorySegment;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Runs a Java method, compiled to code that loops over the items. A thread takes whole groups. */
final class MethodProgram implements CpuProgram {
  private static final System.Logger LOG = System.getLogger("dev.tidepool.kernels");

  private final JvmKernel kernel;
  private final int parameters;

  MethodProgram(KernelSource.Method source, List<KernelParameter> parameters) {
    this.kernel = JvmKernel.compile(MethodReader.read(source));
    this.parameters = parameters.size();
    LOG.log(System.Logger.Level.DEBUG, () -> "cpu:0 runs " + this);
  }

  @Override
  public void run(Launch launch) {
    @Nullable MemorySegment[] arrays = new MemorySegment[parameters];
    @Nullable Object[] scalars = new Object[parameters];
    boolean held = true;
    for (int i = 0; i < parameters; i++) {
      switch (launch.arguments().get(i)) {
        case KernelArgument.Array array -> {
          arrays[i] = CpuProgram.segment(array);
          // The launch holds the library's blocks. Other memory can end while the kernel runs.
          held &= array.block().whole() instanceof HostBlock block && block.isAllocated();
        }
        case KernelArgument.Scalar(Object value) -> scalars[i] = value;
      }
    }
    boolean allHeld = held;
    GroupGrid grid = new GroupGrid(launch.range());
    CpuThreads.spread(
        grid.groups(),
        CpuProgram.grain(grid.groups(), grid.groupItems()),
        (from, to) -> kernel.run(allHeld, arrays, scalars, launch.range(), from, to));
  }

  @Override
  public String toString() {
    return kernel.description();
  }
}

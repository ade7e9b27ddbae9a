package consumer;

import dev.tidepool.Arguments;
import dev.tidepool.Kernel;
import dev.tidepool.KernelSource;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import java.util.Arrays;

/** A program on the module path, which names one module and finds the others as services. */
public final class OnModulePath {
  private OnModulePath() {}

  public static void main(String[] arguments) {
    for (String module : new String[] {"memory", "opencl", "cuda", "metal", "lz4"}) {
      ModuleLayer.boot()
          .findModule("dev.tidepool." + module)
          .filter(found -> found.getDescriptor().version().isPresent())
          .orElseThrow(() -> new AssertionError("no module " + module + " with a version"));
    }
    try (Tidepool tidepool = Tidepool.open()) {
      UnifiedMemoryManager memory = tidepool.memory(tidepool.accelerator("cpu:0"));
      try (UnifiedBuffer<float[]> x = memory.copyOf(new float[] {1, 2, 3});
          Kernel twice = memory.compile(KernelSource.elementwise("x = 2 * x"))) {
        twice.execute(Arguments.of("x", x));
        float[] result = new float[3];
        x.copyTo(result);
        if (!Arrays.equals(result, new float[] {2, 4, 6})) {
          throw new AssertionError(Arrays.toString(result));
        }
      }
    }
    System.out.println("computed on the module path");
  }
}

package consumer;

import dev.tidepool.Arguments;
import dev.tidepool.Kernel;
import dev.tidepool.KernelSource;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.micrometer.TidepoolMetrics;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.util.Arrays;
import java.util.Locale;

/** A program on the class path: computes, finds the backends, and has meters. */
public final class OnClassPath {
  private OnClassPath() {}

  public static void main(String[] arguments) {
    try (Tidepool tidepool = Tidepool.open()) {
      // Each backend is an accelerator, or says why there is none.
      String found = tidepool.accelerators() + " " + tidepool.notes();
      found = found.toLowerCase(Locale.ROOT);
      for (String backend : new String[] {"cpu", "opencl", "cuda", "metal"}) {
        if (!found.contains(backend)) {
          throw new AssertionError("no trace of " + backend + " in " + found);
        }
      }
      UnifiedMemoryManager memory = tidepool.memory(tidepool.accelerator("cpu:0"));
      SimpleMeterRegistry meters = new SimpleMeterRegistry();
      TidepoolMetrics metrics = new TidepoolMetrics();
      metrics.bindTo(meters);
      metrics.add(memory);
      if (meters.getMeters().isEmpty()) {
        throw new AssertionError("no meters");
      }
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
    System.out.println("computed on the class path");
  }
}

package dev.tidepool.examples;

import dev.tidepool.Arguments;
import dev.tidepool.ElementType;
import dev.tidepool.Kernel;
import dev.tidepool.KernelSource;
import dev.tidepool.MemoryStatistics;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import java.util.Arrays;

/** Processes a thousand batches through one buffer, which is allocated once. */
public final class Batches {
  private static final int BATCH = 4096;

  private Batches() {}

  /** Runs the example; the argument is the number of batches, 1000 by default. */
  public static void main(String[] arguments) {
    int batches = Check.size(arguments, 1000);
    float[] host = new float[BATCH];
    try (UnifiedMemoryManager memory = UnifiedMemoryManager.create();
        UnifiedBuffer<float[]> device = memory.allocate(ElementType.FLOAT, BATCH)) {
      Kernel kernel = memory.compile(KernelSource.elementwise("x = 2 * x + 1"));
      process(0, host, device, kernel); // creates everything that the first use needs
      MemoryStatistics before = memory.statistics();
      int right = 0;
      for (int batch = 0; batch < batches; batch++) {
        process(batch, host, device, kernel);
        right += host[0] == 2f * batch + 1 && host[BATCH - 1] == host[0] ? 1 : 0;
      }
      MemoryStatistics after = memory.statistics();
      Check.that(right == batches, "all of " + batches + " batches came back right");
      Check.that(
          after.totalAllocations() == before.totalAllocations()
              && after.driverAllocations() == before.driverAllocations(),
          "no buffer was allocated for them, and the driver was asked for nothing");
    }
  }

  private static void process(
      int batch, float[] host, UnifiedBuffer<float[]> device, Kernel kernel) {
    Arrays.fill(host, batch);
    device.copyFrom(host);
    kernel.execute(Arguments.of("x", device));
    device.copyTo(host);
  }
}

package dev.tidepool.examples;

import dev.tidepool.Arguments;
import dev.tidepool.ElementType;
import dev.tidepool.Kernel;
import dev.tidepool.KernelSource;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.transfer.TransferStatistics;

/**
 * Kernel chaining: the second kernel reads the result of the first on the device. With arrays in
 * between, the bytes are copied to the host and back.
 */
public final class KernelChaining {
  private KernelChaining() {}

  /** Runs the example; the argument is the number of elements, 1,000,000 by default. */
  public static void main(String[] arguments) {
    int length = Check.size(arguments, 1_000_000);
    float[] values = new float[length];
    for (int i = 0; i < length; i++) {
      values[i] = i % 4096;
    }
    float[] chained = new float[length];
    float[] between = new float[length];
    float[] travelled = new float[length];
    try (UnifiedMemoryManager memory = UnifiedMemoryManager.create();
        UnifiedBuffer<float[]> input = memory.copyOf(values);
        UnifiedBuffer<float[]> middle = memory.allocate(ElementType.FLOAT, length);
        UnifiedBuffer<float[]> output = memory.allocate(ElementType.FLOAT, length)) {
      Kernel square = memory.compile(KernelSource.elementwise("b = a * a"));
      Kernel root = memory.compile(KernelSource.elementwise("c = sqrt(b) + 1"));

      long before = moved(memory);
      square.execute(Arguments.of("a", input, "b", middle));
      root.execute(Arguments.of("b", middle, "c", output));
      Check.that(moved(memory) == before, "two kernels in a row moved no byte");
      output.copyTo(chained);

      before = moved(memory);
      square.execute(Arguments.of("a", values, "b", between));
      root.execute(Arguments.of("b", between, "c", travelled));
      System.out.println("with arrays, " + (moved(memory) - before) + " bytes moved");
    }
    boolean right = true;
    for (int i = 0; i < length; i++) {
      right &= chained[i] == values[i] + 1 && travelled[i] == chained[i];
    }
    Check.that(right, length + " results are right both ways");
  }

  /** Returns the bytes copied between host and device so far; 0 if they share memory. */
  private static long moved(UnifiedMemoryManager memory) {
    TransferStatistics transfers = memory.transfers().statistics();
    return transfers.hostToDeviceBytes() + transfers.deviceToHostBytes();
  }
}

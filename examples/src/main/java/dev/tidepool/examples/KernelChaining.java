package dev.tidepool.examples;

import dev.tidepool.Arguments;
import dev.tidepool.ElementType;
import dev.tidepool.Kernel;
import dev.tidepool.KernelSource;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.transfer.TransferStatistics;

/**
 * Kernel chaining: what the first kernel wrote the second one reads where it is. With arrays in
 * between, the same bytes travel back and forth.
 */
public final class KernelChaining {
  private KernelChaining() {}

  /** The argument is the number of elements; 1,000,000 without one. */
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

  /** Bytes that went between host and device so far; none where they share memory. */
  private static long moved(UnifiedMemoryManager memory) {
    TransferStatistics transfers = memory.transfers().statistics();
    return transfers.hostToDeviceBytes() + transfers.deviceToHostBytes();
  }
}

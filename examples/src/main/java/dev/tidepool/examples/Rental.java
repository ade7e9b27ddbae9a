package dev.tidepool.examples;

import dev.tidepool.ElementType;
import dev.tidepool.MemoryStatistics;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.pooling.ArrayPool;
import java.util.Arrays;

/**
 * Rental of buffers with varying sizes: allocate to rent, and close to return. No pool is needed,
 * because the manager keeps freed blocks by size class.
 */
public final class Rental {
  private static final int[] LENGTHS = {250, 1000, 4000, 16_000, 64_000, 250_000};

  private Rental() {}

  /** Runs the example; the argument is the number of rentals, 2000 by default. */
  public static void main(String[] arguments) {
    int rentals = Check.size(arguments, 2000);
    try (UnifiedMemoryManager memory = UnifiedMemoryManager.create()) {
      MemoryStatistics before = memory.statistics();
      for (int i = 0; i < rentals; i++) {
        // A little shorter each time, but of the same size class, so the same block is reused.
        int length = LENGTHS[i % LENGTHS.length] - i % 10;
        try (UnifiedBuffer<float[]> rented = memory.allocate(ElementType.FLOAT, length)) {
          rented.fill((byte) i);
        }
      }
      MemoryStatistics after = memory.statistics();
      long driver = after.driverAllocations() - before.driverAllocations();
      System.out.printf("%.1f%% of all blocks came from the pool%n", 100 * after.hitRate());
      Check.that(
          driver <= LENGTHS.length,
          rentals + " rentals asked the driver at most once for each of 6 sizes");
      Check.that(after.activeBuffers() == 0, "all were returned");
      Check.that(memory.trimExcess() > 0, "idle blocks go back to the driver when asked");

      // A pool of heap arrays.
      try (ArrayPool<float[]> arrays = memory.arrays(ElementType.FLOAT)) {
        float[] first = arrays.rent(1000);
        Arrays.fill(first, 1);
        arrays.giveBack(first);
        float[] second = arrays.rent(990);
        Check.that(second[0] == 1, "an array that was given back is rented again, as it was");
        arrays.giveBack(second);
      }
    }
  }
}

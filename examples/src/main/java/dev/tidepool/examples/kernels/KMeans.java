package dev.tidepool.examples.kernels;

import dev.tidepool.Arguments;
import dev.tidepool.ComputeOrchestrator;
import dev.tidepool.ElementType;
import dev.tidepool.ExecutionOptions;
import dev.tidepool.KernelMethod;
import dev.tidepool.LaunchRange;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.WorkItem;
import dev.tidepool.examples.Check;
import java.util.Arrays;
import java.util.Random;

/**
 * A step of k-means over colours by three kernels of one class. An orchestrator registers them by
 * name and runs them where the buffers are. Each colour finds its nearest centre and is added
 * atomically to the sums of that centre. Then the centres move to the means. Sums of integers do
 * not depend on the order of additions.
 */
public final class KMeans {
  private static final int CENTRES = 16;

  /** The most colours whose channel sums always fit an int. */
  private static final int MOST_COLOURS = Integer.MAX_VALUE / 255;

  private KMeans() {}

  /** Finds the nearest centre of one colour. Colours and centres are red, green and blue. */
  @KernelMethod
  static void nearest(int i, byte[] colours, int[] centres, int[] nearest) {
    int best = 0;
    int least = Integer.MAX_VALUE;
    for (int c = 0; c < centres.length / 3; c++) {
      int distance = 0;
      for (int channel = 0; channel < 3; channel++) {
        int difference = (colours[3 * i + channel] & 0xff) - centres[3 * c + channel];
        distance += difference * difference;
      }
      if (distance < least) {
        least = distance;
        best = c;
      }
    }
    nearest[i] = best;
  }

  /** Adds one colour to the sums of its centre: red, green, blue, and the number of colours. */
  @KernelMethod
  static void add(WorkItem item, byte[] colours, int[] nearest, int[] sums) {
    int i = (int) item.globalId(0);
    int at = 4 * nearest[i];
    for (int channel = 0; channel < 3; channel++) {
      item.atomicAdd(sums, at + channel, colours[3 * i + channel] & 0xff);
    }
    item.atomicAdd(sums, at + 3, 1);
  }

  /** Moves one centre to the mean of its colours, if it has any. */
  @KernelMethod
  static void move(int centre, int[] sums, int[] centres) {
    int count = sums[4 * centre + 3];
    if (count > 0) {
      for (int channel = 0; channel < 3; channel++) {
        centres[3 * centre + channel] = (sums[4 * centre + channel] + count / 2) / count;
      }
    }
  }

  /** Returns the centres after one step; {@code kernels} contains the kernels of this class. */
  static int[] step(
      ComputeOrchestrator kernels, UnifiedMemoryManager memory, byte[] colours, int[] centres) {
    int count = colours.length / 3;
    if (count > MOST_COLOURS) {
      throw new IllegalArgumentException(
          "the sums of " + count + " colours may be too large for an int");
    }
    int[] moved = new int[centres.length];
    try (UnifiedBuffer<byte[]> points = memory.copyOf(colours);
        UnifiedBuffer<int[]> means = memory.copyOf(centres);
        UnifiedBuffer<int[]> nearest = memory.allocate(ElementType.INT, count);
        UnifiedBuffer<int[]> sums = memory.copyOf(new int[centres.length / 3 * 4])) {
      ExecutionOptions overColours = ExecutionOptions.defaults().over(LaunchRange.of(count));
      ExecutionOptions overCentres =
          ExecutionOptions.defaults().over(LaunchRange.of(centres.length / 3));
      kernels.execute(
          "nearest",
          Arguments.of("colours", points, "centres", means, "nearest", nearest),
          overColours);
      kernels.execute(
          "add", Arguments.of("colours", points, "nearest", nearest, "sums", sums), overColours);
      kernels.execute("move", Arguments.of("sums", sums, "centres", means), overCentres);
      means.copyTo(moved);
    }
    return moved;
  }

  /** Computes the result by plain Java. */
  static int[] plain(byte[] colours, int[] centres) {
    int[][] sums = new int[centres.length / 3][4];
    for (int i = 0; i < colours.length; i += 3) {
      int[] colour = new int[3];
      for (int channel = 0; channel < 3; channel++) {
        colour[channel] = Byte.toUnsignedInt(colours[i + channel]);
      }
      int best = 0;
      for (int c = 1; c < sums.length; c++) {
        if (distance(colour, centres, c) < distance(colour, centres, best)) {
          best = c;
        }
      }
      for (int channel = 0; channel < 3; channel++) {
        sums[best][channel] += colour[channel];
      }
      sums[best][3]++;
    }
    int[] moved = centres.clone();
    for (int k = 0; k < moved.length; k++) {
      int[] sum = sums[k / 3];
      moved[k] = sum[3] == 0 ? centres[k] : (sum[k % 3] + sum[3] / 2) / sum[3];
    }
    return moved;
  }

  private static int distance(int[] colour, int[] centres, int centre) {
    int distance = 0;
    for (int channel = 0; channel < 3; channel++) {
      int difference = colour[channel] - centres[3 * centre + channel];
      distance += difference * difference;
    }
    return distance;
  }

  /** Runs the example; the argument is the number of colours, 300,000 by default. */
  public static void main(String[] arguments) {
    Random random = new Random(10);
    byte[] colours = new byte[3 * Check.size(arguments, 300_000)];
    random.nextBytes(colours);
    int[] centres = random.ints(3 * CENTRES, 0, 256).toArray();
    int[] moved;
    try (Tidepool tidepool = Tidepool.open()) {
      tidepool.orchestrator().register(KMeans.class);
      moved = step(tidepool.orchestrator(), tidepool.memory(), colours, centres);
    }
    Check.that(
        Arrays.equals(moved, plain(colours, centres)),
        CENTRES + " centres of " + colours.length / 3 + " colours move as in plain Java");
  }
}

package dev.tidepool.examples.kernels;

import dev.tidepool.Arguments;
import dev.tidepool.ElementType;
import dev.tidepool.Kernel;
import dev.tidepool.KernelSource;
import dev.tidepool.LaunchRange;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.WorkItem;
import dev.tidepool.examples.Check;
import java.lang.invoke.MethodHandles;
import java.util.Arrays;
import java.util.Random;

/**
 * The scores of many rows for a query. Each item loops over one row. The rows stay in a buffer for
 * all queries, and the range determines the number of items.
 */
public final class DotProduct {
  private static final int DIMENSIONS = 128;
  private static final KernelSource DOT = KernelSource.method(MethodHandles.lookup(), "dot");

  private DotProduct() {}

  /** Computes the score of one row, a sum of products. */
  static void dot(WorkItem item, int dimensions, float[] rows, float[] query, float[] scores) {
    int row = (int) item.globalId(0);
    float sum = 0;
    for (int d = 0; d < dimensions; d++) {
      sum += rows[row * dimensions + d] * query[d];
    }
    scores[row] = sum;
  }

  /** Returns the scores of all rows for each query. */
  static float[][] scores(UnifiedMemoryManager memory, float[] rows, float[]... queries) {
    int dimensions = queries[0].length;
    int count = rows.length / dimensions;
    float[][] all = new float[queries.length][count];
    try (UnifiedBuffer<float[]> kept = memory.copyOf(rows);
        UnifiedBuffer<float[]> scores = memory.allocate(ElementType.FLOAT, count)) {
      Kernel dot = memory.compile(DOT);
      for (int q = 0; q < queries.length; q++) {
        dot.execute(
            Arguments.of(
                "dimensions", dimensions, "rows", kept, "query", queries[q], "scores", scores),
            LaunchRange.of(count)); // by default, one item for each element of the rows
        scores.copyTo(all[q]);
      }
    }
    return all;
  }

  /** Computes the scores of one query by plain Java. */
  static float[] plain(float[] rows, float[] query) {
    float[] scores = new float[rows.length / query.length];
    for (int i = 0; i < rows.length; i++) {
      scores[i / query.length] += rows[i] * query[i % query.length];
    }
    return scores;
  }

  /** Runs the example; the argument is the number of rows, 20,000 by default. */
  public static void main(String[] arguments) {
    Random random = new Random(1);
    float[] rows = new float[Check.size(arguments, 20_000) * DIMENSIONS];
    float[][] queries = new float[3][DIMENSIONS];
    for (int i = 0; i < rows.length; i++) {
      rows[i] = random.nextFloat() - 0.5f;
    }
    for (float[] query : queries) {
      for (int d = 0; d < DIMENSIONS; d++) {
        query[d] = random.nextFloat() - 0.5f;
      }
    }
    float[][] scores;
    try (UnifiedMemoryManager memory = UnifiedMemoryManager.create()) {
      scores = scores(memory, rows, queries);
    }
    boolean right = true;
    for (int q = 0; q < queries.length; q++) {
      right &= Arrays.equals(scores[q], plain(rows, queries[q]));
    }
    Check.that(right, scores[0].length + " rows have the scores of a loop, to the last bit");
  }
}

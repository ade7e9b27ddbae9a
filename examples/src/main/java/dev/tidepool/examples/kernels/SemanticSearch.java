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
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Random;

/**
 * Finds the ten best of many vectors for each query of a batch, by dot product. An item compares a
 * part of the vectors with eight queries, so each vector is loaded once for eight sums. The sums
 * are variables, which stay in registers. The host merges the results of all parts. For cosine
 * similarity, normalise vectors and queries first.
 */
public final class SemanticSearch implements AutoCloseable {
  private static final int DIMENSIONS = 128;
  private static final int TOP = 10;

  /** The number of queries of an item, and of sums in the kernel. */
  private static final int GROUP = 8;

  /** The number of vectors of an item: few enough to stay in a cache for all groups of queries. */
  private static final int PART = 256;

  private static final KernelSource SEARCH =
      KernelSource.method(MethodHandles.lookup(), "bestOfPart");

  private final UnifiedMemoryManager memory;
  private final Kernel kernel;
  private final UnifiedBuffer<float[]> vectors;
  private final int dimensions;
  private final int parts;

  /** Copies vectors to the device for any number of batches. */
  SemanticSearch(UnifiedMemoryManager memory, int dimensions, float[] vectors) {
    this.memory = memory;
    this.dimensions = dimensions;
    parts = Math.ceilDiv(vectors.length / dimensions, PART);
    kernel = memory.compile(SEARCH);
    this.vectors = memory.copyOf(vectors);
  }

  /** A vector's number and its score. */
  record Hit(int row, float score) {}

  /**
   * Finds the best vectors of one part for one group of queries. The queries of a group are
   * interleaved: eight first elements, eight second ones, and so on.
   */
  static void bestOfPart(
      WorkItem item, int dimensions, float[] vectors, float[] queries, float[] scores, int[] rows) {
    int group = (int) item.globalId(0);
    int part = (int) item.globalId(1);
    float[] sums = new float[GROUP];
    float[] best = new float[GROUP * TOP];
    int[] found = new int[GROUP * TOP];
    for (int i = 0; i < GROUP * TOP; i++) {
      best[i] = Float.NEGATIVE_INFINITY;
    }
    int end = Math.min((part + 1) * PART, vectors.length / dimensions);
    for (int row = part * PART; row < end; row++) {
      float s0 = 0;
      float s1 = 0;
      float s2 = 0;
      float s3 = 0;
      float s4 = 0;
      float s5 = 0;
      float s6 = 0;
      float s7 = 0;
      for (int d = 0; d < dimensions; d++) {
        float x = vectors[row * dimensions + d];
        int at = (group * dimensions + d) * GROUP;
        s0 += x * queries[at];
        s1 += x * queries[at + 1];
        s2 += x * queries[at + 2];
        s3 += x * queries[at + 3];
        s4 += x * queries[at + 4];
        s5 += x * queries[at + 5];
        s6 += x * queries[at + 6];
        s7 += x * queries[at + 7];
      }
      sums[0] = s0;
      sums[1] = s1;
      sums[2] = s2;
      sums[3] = s3;
      sums[4] = s4;
      sums[5] = s5;
      sums[6] = s6;
      sums[7] = s7;
      for (int q = 0; q < GROUP; q++) {
        insert(row, sums[q], best, found, q * TOP);
      }
    }
    int to = (part * (int) item.globalSize(0) + group) * GROUP * TOP;
    for (int i = 0; i < GROUP * TOP; i++) {
      scores[to + i] = best[i];
      rows[to + i] = found[i];
    }
  }

  /** Inserts a row into the ten best from {@code first} on, behind rows with an equal score. */
  private static void insert(int row, float score, float[] best, int[] found, int first) {
    int i = first + TOP - 1;
    if (score > best[i]) {
      for (; i > first && best[i - 1] < score; i--) {
        best[i] = best[i - 1];
        found[i] = found[i - 1];
      }
      best[i] = score;
      found[i] = row;
    }
  }

  /** Returns the best vectors for each query, the best first. */
  List<List<Hit>> best(float[]... queries) {
    int groups = Math.ceilDiv(queries.length, GROUP);
    int length = parts * groups * GROUP * TOP;
    float[] scores = new float[length];
    int[] rows = new int[length];
    try (UnifiedBuffer<float[]> scoresOfParts = memory.allocate(ElementType.FLOAT, length);
        UnifiedBuffer<int[]> rowsOfParts = memory.allocate(ElementType.INT, length)) {
      kernel.execute(
          Arguments.of(
              "dimensions", dimensions,
              "vectors", vectors,
              "queries", sideBySide(queries),
              "scores", scoresOfParts,
              "rows", rowsOfParts),
          LaunchRange.of(groups, parts));
      scoresOfParts.copyTo(scores);
      rowsOfParts.copyTo(rows);
    }
    List<List<Hit>> hits = new ArrayList<>();
    for (int q = 0; q < queries.length; q++) {
      hits.add(merged(q * TOP, groups * GROUP * TOP, scores, rows));
    }
    return hits;
  }

  /** Returns the queries interleaved in groups; the last group is padded with zeros. */
  private float[] sideBySide(float[][] queries) {
    float[] all = new float[Math.ceilDiv(queries.length, GROUP) * GROUP * dimensions];
    for (int q = 0; q < queries.length; q++) {
      for (int d = 0; d < dimensions; d++) {
        all[(q / GROUP * dimensions + d) * GROUP + q % GROUP] = queries[q][d];
      }
    }
    return all;
  }

  /** Returns the best rows of one query from the best of each part. */
  private static List<Hit> merged(int first, int step, float[] scores, int[] rows) {
    float[] best = new float[TOP];
    int[] found = new int[TOP];
    Arrays.fill(best, Float.NEGATIVE_INFINITY);
    for (int part = first; part < scores.length; part += step) {
      for (int i = part; i < part + TOP && scores[i] > best[TOP - 1]; i++) {
        insert(rows[i], scores[i], best, found, 0);
      }
    }
    List<Hit> hits = new ArrayList<>();
    for (int i = 0; i < TOP && best[i] > Float.NEGATIVE_INFINITY; i++) {
      hits.add(new Hit(found[i], best[i]));
    }
    return hits;
  }

  /** Computes the result of one query by plain Java: sorts all scores. */
  static List<Hit> plain(float[] vectors, float[] query) {
    List<Hit> hits = new ArrayList<>();
    for (int row = 0; row < vectors.length / query.length; row++) {
      float score = 0;
      for (int d = 0; d < query.length; d++) {
        score += vectors[row * query.length + d] * query[d];
      }
      hits.add(new Hit(row, score));
    }
    // The sort is stable, so of rows with equal scores the first comes first.
    hits.sort(Comparator.comparingDouble(Hit::score).reversed());
    return hits.subList(0, Math.min(TOP, hits.size()));
  }

  /** Closes the vectors and the kernel. */
  @Override
  public void close() {
    vectors.close();
    kernel.close();
  }

  /** Runs the example; the argument is the number of vectors, 20,000 by default. */
  public static void main(String[] arguments) {
    Random random = new Random(1);
    float[] vectors = new float[Check.size(arguments, 20_000) * DIMENSIONS];
    float[][] queries = new float[32][DIMENSIONS];
    for (int i = 0; i < vectors.length; i++) {
      vectors[i] = random.nextFloat() - 0.5f;
    }
    for (float[] query : queries) {
      for (int d = 0; d < DIMENSIONS; d++) {
        query[d] = random.nextFloat() - 0.5f;
      }
    }
    List<List<Hit>> hits;
    try (UnifiedMemoryManager memory = UnifiedMemoryManager.create();
        SemanticSearch search = new SemanticSearch(memory, DIMENSIONS, vectors)) {
      hits = search.best(queries);
    }
    boolean right = true;
    for (int q = 0; q < queries.length; q++) {
      right &= hits.get(q).equals(plain(vectors, queries[q]));
    }
    Check.that(
        right,
        String.format(
            "the %d best of %d vectors for %d queries are those of plain Java",
            TOP, vectors.length / DIMENSIONS, queries.length));
  }
}

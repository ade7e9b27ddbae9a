package dev.tidepool.examples.kernels;

import dev.tidepool.Arguments;
import dev.tidepool.KernelSource;
import dev.tidepool.LaunchRange;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.WorkItem;
import dev.tidepool.examples.Check;
import java.lang.invoke.MethodHandles;
import java.util.Arrays;
import java.util.Random;

/**
 * A matrix product in tiles. The items of a group load two tiles into shared memory, wait at a
 * barrier, and read each loaded element sixteen times. The range is padded to whole groups. Items
 * beyond the matrix take part in the barriers, load zeros and store nothing.
 */
public final class TiledProduct {
  private static final int TILE = 16;
  private static final KernelSource PRODUCT =
      KernelSource.method(MethodHandles.lookup(), "product");

  private TiledProduct() {}

  /** Computes one element of the product: dimension 0 is the column, dimension 1 the row. */
  static void product(
      WorkItem item, int rows, int inner, int columns, float[] a, float[] b, float[] c) {
    float[] tileA = item.localFloats(TILE * TILE);
    float[] tileB = item.localFloats(TILE * TILE);
    int column = (int) item.globalId(0);
    int row = (int) item.globalId(1);
    int x = (int) item.localId(0);
    int y = (int) item.localId(1);
    float sum = 0;
    for (int from = 0; from < inner; from += TILE) {
      boolean inA = row < rows && from + x < inner;
      boolean inB = from + y < inner && column < columns;
      tileA[y * TILE + x] = inA ? a[row * inner + from + x] : 0;
      tileB[y * TILE + x] = inB ? b[(from + y) * columns + column] : 0;
      item.barrier(); // the tiles are complete
      for (int k = 0; k < TILE; k++) {
        sum += tileA[y * TILE + k] * tileB[k * TILE + x];
      }
      item.barrier(); // no item still reads the tiles
    }
    if (row < rows && column < columns) {
      c[row * columns + column] = sum;
    }
  }

  /** Returns the product of a matrix of {@code rows x inner} and one of {@code inner x columns}. */
  static float[] computed(
      UnifiedMemoryManager memory, int rows, int inner, int columns, float[] a, float[] b) {
    float[] c = new float[rows * columns];
    memory
        .compile(PRODUCT)
        .execute(
            Arguments.of("rows", rows, "inner", inner, "columns", columns, "a", a, "b", b, "c", c),
            LaunchRange.of(padded(columns), padded(rows)).inGroupsOf(TILE, TILE));
    return c;
  }

  private static long padded(int size) {
    return (long) Math.ceilDiv(size, TILE) * TILE;
  }

  /** Computes the result by plain Java. */
  static float[] plain(int rows, int inner, int columns, float[] a, float[] b) {
    float[] c = new float[rows * columns];
    for (int row = 0; row < rows; row++) {
      for (int k = 0; k < inner; k++) {
        for (int column = 0; column < columns; column++) {
          c[row * columns + column] += a[row * inner + k] * b[k * columns + column];
        }
      }
    }
    return c;
  }

  /** Runs the example; the argument is the number of rows, 300 by default. */
  public static void main(String[] arguments) {
    int rows = Check.size(arguments, 300);
    int inner = rows + 7;
    int columns = 2 * rows + 1;
    Random random = new Random(2);
    float[] a = new float[rows * inner];
    float[] b = new float[inner * columns];
    for (int i = 0; i < a.length; i++) {
      a[i] = random.nextFloat() - 0.5f;
    }
    for (int i = 0; i < b.length; i++) {
      b[i] = random.nextFloat() - 0.5f;
    }
    float[] c;
    try (UnifiedMemoryManager memory = UnifiedMemoryManager.create()) {
      c = computed(memory, rows, inner, columns, a, b);
    }
    Check.that(
        Arrays.equals(c, plain(rows, inner, columns, a, b)),
        "the product of " + rows + " x " + columns + " is that of three loops, to the last bit");
  }
}

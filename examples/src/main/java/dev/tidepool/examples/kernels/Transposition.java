package dev.tidepool.examples.kernels;

import dev.tidepool.Arguments;
import dev.tidepool.KernelMethod;
import dev.tidepool.KernelSource;
import dev.tidepool.LaunchRange;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.WorkItem;
import dev.tidepool.examples.Check;
import java.util.Arrays;
import java.util.Random;

/**
 * A transposition by two kernels of one class. The first is a plain kernel for a range of two
 * dimensions. In the second, a group transposes a tile in shared memory, so that neighbouring items
 * load and store neighbouring elements. The tile has an extra column, because elements 32 words
 * apart share a memory bank of a GPU.
 */
public final class Transposition {
  private static final int TILE = 16;
  private static final int STRIDE = TILE + 1;

  private Transposition() {}

  /** Copies the item's element from row and column to column and row. */
  @KernelMethod
  public static void direct(WorkItem item, int rows, int columns, double[] in, double[] out) {
    int column = (int) item.globalId(0);
    int row = (int) item.globalId(1);
    out[column * rows + row] = in[row * columns + column];
  }

  /** Transposes in tiles; the range is padded to whole groups. */
  @KernelMethod
  public static void tiled(WorkItem item, int rows, int columns, double[] in, double[] out) {
    double[] tile = item.localDoubles(TILE * STRIDE);
    int x = (int) item.localId(0);
    int y = (int) item.localId(1);
    int left = (int) item.groupId(0) * TILE;
    int top = (int) item.groupId(1) * TILE;
    if (left + x < columns && top + y < rows) {
      tile[y * STRIDE + x] = in[(top + y) * columns + left + x];
    }
    item.barrier();
    if (left + y < columns && top + x < rows) {
      out[(left + y) * rows + top + x] = tile[x * STRIDE + y];
    }
  }

  /** Returns the transposed matrix, computed by one of the kernels. */
  static double[] transposed(
      UnifiedMemoryManager memory, String kernel, int rows, int columns, double[] in) {
    double[] out = new double[in.length];
    LaunchRange elements = LaunchRange.of(columns, rows);
    LaunchRange tiles = LaunchRange.of(padded(columns), padded(rows)).inGroupsOf(TILE, TILE);
    memory
        .compile(KernelSource.method(Transposition.class, kernel)) // public, with @KernelMethod
        .execute(
            Arguments.of("rows", rows, "columns", columns, "in", in, "out", out),
            kernel.equals("tiled") ? tiles : elements);
    return out;
  }

  private static long padded(int size) {
    return (long) Math.ceilDiv(size, TILE) * TILE;
  }

  /** Computes the result by plain Java. */
  static double[] plain(int rows, int columns, double[] in) {
    double[] out = new double[in.length];
    for (int i = 0; i < in.length; i++) {
      out[i % columns * rows + i / columns] = in[i];
    }
    return out;
  }

  /** Runs the example; the argument is the number of rows, 1000 by default. */
  public static void main(String[] arguments) {
    int rows = Check.size(arguments, 1000);
    int columns = rows + 13;
    double[] in = new Random(3).doubles((long) rows * columns).toArray();
    double[] expected = plain(rows, columns, in);
    try (UnifiedMemoryManager memory = UnifiedMemoryManager.create()) {
      for (String kernel : new String[] {"direct", "tiled"}) {
        Check.that(
            Arrays.equals(transposed(memory, kernel, rows, columns, in), expected),
            kernel + ": " + rows + " x " + columns + " elements are in their places");
      }
    }
  }
}

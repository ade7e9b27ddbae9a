package dev.tidepool.benchmarks;

import dev.tidepool.KernelMethod;
import dev.tidepool.WorkItem;

/** A tiled matrix product as a Java method. */
public final class TiledProduct {
  static final int TILE = 16;

  private TiledProduct() {}

  /** Computes one element of {@code c = a * b} for n rows and columns; groups are tiles. */
  @KernelMethod
  public static void tiled(WorkItem item, int n, float[] a, float[] b, float[] c) {
    float[] tileA = item.localFloats(TILE * TILE);
    float[] tileB = item.localFloats(TILE * TILE);
    int column = (int) item.globalId(0);
    int row = (int) item.globalId(1);
    int x = (int) item.localId(0);
    int y = (int) item.localId(1);
    float sum = 0;
    for (int t = 0; t < n; t += TILE) {
      tileA[y * TILE + x] = a[row * n + t + x];
      tileB[y * TILE + x] = b[(t + y) * n + column];
      item.barrier();
      for (int k = 0; k < TILE; k++) {
        sum += tileA[y * TILE + k] * tileB[k * TILE + x];
      }
      item.barrier();
    }
    c[row * n + column] = sum;
  }
}

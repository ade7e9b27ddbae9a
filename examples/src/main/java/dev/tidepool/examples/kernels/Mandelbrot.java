package dev.tidepool.examples.kernels;

import dev.tidepool.Arguments;
import dev.tidepool.KernelSource;
import dev.tidepool.LaunchRange;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.WorkItem;
import dev.tidepool.examples.Check;
import java.lang.invoke.MethodHandles;
import java.util.Arrays;

/**
 * The Mandelbrot set: a loop whose length depends on the item, and constants of the class. A single
 * operation with different rounding would change some counts. Every accelerator returns the same
 * counts as Java.
 */
public final class Mandelbrot {
  private static final int LIMIT = 500;
  private static final float LEFT = -2.2f;
  private static final float TOP = -1.2f;
  private static final float EXTENT = 3.2f;
  private static final KernelSource ESCAPE = KernelSource.method(MethodHandles.lookup(), "escape");

  private Mandelbrot() {}

  /** Counts the steps until the item's point leaves the circle of radius 2. */
  static void escape(WorkItem item, int width, int[] steps) {
    int column = (int) item.globalId(0);
    int row = (int) item.globalId(1);
    float re = LEFT + EXTENT * column / width;
    float im = TOP + EXTENT * row / width;
    float x = 0;
    float y = 0;
    int n = 0;
    while (n < LIMIT && x * x + y * y <= 4) {
      float next = x * x - y * y + re;
      y = 2 * x * y + im;
      x = next;
      n++;
    }
    steps[row * width + column] = n;
  }

  /** Returns the number of steps for each pixel, row by row. */
  static int[] steps(UnifiedMemoryManager memory, int width, int height) {
    int[] steps = new int[width * height];
    memory
        .compile(ESCAPE)
        .execute(Arguments.of("width", width, "steps", steps), LaunchRange.of(width, height));
    return steps;
  }

  /** Computes the result by plain Java: a kernel is a method that can be called. */
  static int[] plain(int width, int height) {
    int[] steps = new int[width * height];
    for (int row = 0; row < height; row++) {
      for (int column = 0; column < width; column++) {
        escape(WorkItem.of(column, row), width, steps);
      }
    }
    return steps;
  }

  /** Runs the example; the argument is the width of the image, 400 by default. */
  public static void main(String[] arguments) {
    int width = Check.size(arguments, 400);
    int height = 3 * width / 4 + 1;
    int[] steps;
    try (UnifiedMemoryManager memory = UnifiedMemoryManager.create()) {
      steps = steps(memory, width, height);
    }
    Check.that(
        Arrays.equals(steps, plain(width, height)),
        "the steps of " + width + " x " + height + " points are exactly those of plain Java");
  }
}

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
 * A blur of 3 x 3 pixels. A method that the kernel calls clamps the indices at the borders. Methods
 * that a kernel calls are ordinary static methods.
 */
public final class Blur {
  private static final KernelSource BLUR = KernelSource.method(MethodHandles.lookup(), "blur");

  private Blur() {}

  /** Computes the mean of a pixel and its neighbours; the border is repeated beyond the image. */
  static void blur(WorkItem item, int width, int height, float[] image, float[] blurred) {
    int x = (int) item.globalId(0);
    int y = (int) item.globalId(1);
    float sum = 0;
    for (int dy = -1; dy <= 1; dy++) {
      int row = clamped(y + dy, height) * width;
      for (int dx = -1; dx <= 1; dx++) {
        sum += image[row + clamped(x + dx, width)];
      }
    }
    blurred[y * width + x] = sum / 9;
  }

  private static int clamped(int index, int size) {
    return Math.max(0, Math.min(index, size - 1));
  }

  /** Returns the blurred image. */
  static float[] blurred(UnifiedMemoryManager memory, int width, int height, float[] image) {
    float[] blurred = new float[image.length];
    memory
        .compile(BLUR)
        .execute(
            Arguments.of("width", width, "height", height, "image", image, "blurred", blurred),
            LaunchRange.of(width, height));
    return blurred;
  }

  /** Computes the result by plain Java, which adds a border to the image first. */
  static float[] plain(int width, int height, float[] image) {
    int wide = width + 2;
    float[] framed = new float[wide * (height + 2)];
    for (int y = 0; y < height + 2; y++) {
      int row = (y == 0 ? 0 : y == height + 1 ? height - 1 : y - 1) * width;
      framed[y * wide] = image[row];
      System.arraycopy(image, row, framed, y * wide + 1, width);
      framed[y * wide + wide - 1] = image[row + width - 1];
    }
    float[] blurred = new float[image.length];
    for (int y = 0; y < height; y++) {
      for (int x = 0; x < width; x++) {
        float sum = 0;
        for (int k = 0; k < 9; k++) {
          sum += framed[(y + k / 3) * wide + x + k % 3];
        }
        blurred[y * width + x] = sum / 9;
      }
    }
    return blurred;
  }

  /** Runs the example; the argument is the width of the image, 800 by default. */
  public static void main(String[] arguments) {
    int width = Check.size(arguments, 800);
    int height = 3 * width / 4 + 1;
    Random random = new Random(4);
    float[] image = new float[width * height];
    for (int i = 0; i < image.length; i++) {
      image[i] = random.nextFloat();
    }
    float[] blurred;
    try (UnifiedMemoryManager memory = UnifiedMemoryManager.create()) {
      blurred = blurred(memory, width, height, image);
    }
    Check.that(
        Arrays.equals(blurred, plain(width, height, image)),
        "the means of " + width + " x " + height + " pixels are right, to the last bit");
  }
}

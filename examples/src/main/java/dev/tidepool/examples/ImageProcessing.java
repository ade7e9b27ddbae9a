package dev.tidepool.examples;

import dev.tidepool.Arguments;
import dev.tidepool.ElementType;
import dev.tidepool.KernelSource;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import java.util.Map;
import java.util.TreeMap;

/**
 * Image processing without copies: a 3 by 3 blur, and a mask of bright pixels. The neighbours of
 * all pixels are slices of one buffer at different offsets.
 */
public final class ImageProcessing {
  private static final float BRIGHT = 140;

  private ImageProcessing() {}

  /** Runs the example; the argument is the width and height in pixels, 1024 by default. */
  public static void main(String[] arguments) {
    int width = Check.size(arguments, 1024);
    int height = width;
    float[] pixels = new float[width * height];
    for (int i = 0; i < pixels.length; i++) {
      pixels[i] = (i * 31 + i / width * 17) % 256;
    }
    // All pixels except the first and the last width + 1 are centres of the blur.
    int first = width + 1;
    int inside = pixels.length - 2 * first;
    float[] blurred = new float[inside];
    boolean[] bright = new boolean[inside];
    try (UnifiedMemoryManager memory = UnifiedMemoryManager.create();
        UnifiedBuffer<float[]> image = memory.copyOf(pixels);
        UnifiedBuffer<float[]> blur = memory.allocate(ElementType.FLOAT, inside);
        UnifiedBuffer<boolean[]> mask = memory.allocate(ElementType.BOOLEAN, inside)) {
      Map<String, Object> named = new TreeMap<>(Map.of("blur", blur, "mask", mask));
      for (int row = 0; row < 3; row++) {
        for (int column = 0; column < 3; column++) {
          named.put("p" + row + column, image.slice(row * width + column, inside));
        }
      }
      memory
          .compile(
              KernelSource.elementwise(
                  "blur = (p00 + p01 + p02 + p10 + p11 + p12 + p20 + p21 + p22) / 9;"
                      + " mask = blur > bright"))
          .execute(Arguments.of(named).with("bright", BRIGHT));
      blur.copyTo(blurred);
      mask.copyTo(bright);
    }

    boolean right = true;
    int count = 0;
    for (int i = 0; i < inside; i++) {
      float sum = 0;
      for (int row = 0; row < 3; row++) {
        for (int column = 0; column < 3; column++) {
          sum += pixels[i + row * width + column];
        }
      }
      right &= blurred[i] == sum / 9 && bright[i] == blurred[i] > BRIGHT;
      count += bright[i] ? 1 : 0;
    }
    Check.that(right, "each of " + inside + " pixels is the mean of its 9 neighbours");
    Check.that(count > 0 && count < inside, count + " of them are bright, and marked so");
  }
}

package dev.tidepool.examples;

import dev.tidepool.Arguments;
import dev.tidepool.ElementType;
import dev.tidepool.Kernel;
import dev.tidepool.KernelSource;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;

/** Pre-allocation: a processor allocates its buffers for the largest image when it is created. */
public final class PreAllocation {
  private PreAllocation() {}

  /** Owns the buffers in which images are processed; for one thread. */
  private static final class ImageProcessor implements AutoCloseable {
    private final UnifiedBuffer<byte[]> input;
    private final UnifiedBuffer<float[]> temporary;
    private final UnifiedBuffer<boolean[]> output;
    private final Kernel normalise;
    private final Kernel threshold;

    ImageProcessor(UnifiedMemoryManager memory, int mostPixels) {
      input = memory.allocate(ElementType.UNSIGNED_BYTE, mostPixels);
      temporary = memory.allocate(ElementType.FLOAT, mostPixels);
      output = memory.allocate(ElementType.BOOLEAN, mostPixels);
      normalise = memory.compile(KernelSource.elementwise("t = x / 255"));
      threshold = memory.compile(KernelSource.elementwise("bright = t > limit"));
    }

    /** Returns which pixels are brighter than a limit from 0 to 1. */
    boolean[] process(byte[] image, float limit) {
      // Slices of the first pixels, so that a smaller image needs no buffer of its own.
      try (UnifiedBuffer<byte[]> x = input.slice(0, image.length);
          UnifiedBuffer<float[]> t = temporary.slice(0, image.length);
          UnifiedBuffer<boolean[]> bright = output.slice(0, image.length)) {
        x.copyFrom(image);
        normalise.execute(Arguments.of("x", x, "t", t));
        threshold.execute(Arguments.of("t", t, "limit", limit, "bright", bright));
        boolean[] result = new boolean[image.length];
        bright.copyTo(result);
        return result;
      }
    }

    @Override
    public void close() {
      input.close();
      temporary.close();
      output.close();
    }
  }

  /** Runs the example; the argument is the pixels of the largest image, 1,000,000 by default. */
  public static void main(String[] arguments) {
    int most = Check.size(arguments, 1_000_000);
    try (UnifiedMemoryManager memory = UnifiedMemoryManager.create();
        ImageProcessor processor = new ImageProcessor(memory, most)) {
      long buffers = memory.statistics().totalAllocations();
      int wrong = 0;
      for (int pixels = most; pixels > 0; pixels /= 2) {
        byte[] image = new byte[pixels];
        for (int i = 0; i < pixels; i++) {
          image[i] = (byte) (i * 7);
        }
        boolean[] bright = processor.process(image, 0.5f);
        for (int i = 0; i < pixels; i++) {
          wrong += bright[i] == (image[i] & 0xff) / 255f > 0.5f ? 0 : 1;
        }
      }
      Check.that(wrong == 0, "every pixel of images from " + most + " pixels down to 1 is right");
      Check.that(
          memory.statistics().totalAllocations() == buffers, "no image allocated a further buffer");
    }
  }
}

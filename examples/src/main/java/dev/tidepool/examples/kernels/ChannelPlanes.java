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
 * Converts pixels of three bytes to three planes of normalised floats, the format of neural
 * networks (HWC to CHW). The range has three dimensions, and {@code & 0xff} makes bytes unsigned.
 */
public final class ChannelPlanes {
  private static final int CHANNELS = 3;
  private static final KernelSource PLANES = KernelSource.method(MethodHandles.lookup(), "planes");

  private ChannelPlanes() {}

  /** Computes one value of one channel: dimension 0 is the column, 1 the row, 2 the channel. */
  static void planes(
      WorkItem item,
      int width,
      int height,
      byte[] pixels,
      float[] mean,
      float[] deviation,
      float[] planes) {
    int x = (int) item.globalId(0);
    int y = (int) item.globalId(1);
    int channel = (int) item.globalId(2);
    float value = (pixels[(y * width + x) * CHANNELS + channel] & 0xff) / 255f;
    planes[(channel * height + y) * width + x] = (value - mean[channel]) / deviation[channel];
  }

  /** Returns the planes of an image, channel by channel. */
  static float[] computed(
      UnifiedMemoryManager memory,
      int width,
      int height,
      byte[] pixels,
      float[] mean,
      float[] deviation) {
    float[] planes = new float[pixels.length];
    memory
        .compile(PLANES)
        .execute(
            Arguments.inOrder(width, height, pixels, mean, deviation, planes),
            LaunchRange.of(width, height, CHANNELS));
    return planes;
  }

  /** Computes the result by plain Java. */
  static float[] plain(byte[] pixels, float[] mean, float[] deviation) {
    float[] planes = new float[pixels.length];
    int plane = pixels.length / CHANNELS;
    for (int i = 0; i < pixels.length; i++) {
      int channel = i % CHANNELS;
      float value = Byte.toUnsignedInt(pixels[i]) / 255f;
      planes[channel * plane + i / CHANNELS] = (value - mean[channel]) / deviation[channel];
    }
    return planes;
  }

  /** Runs the example; the argument is the width of the image, 640 by default. */
  public static void main(String[] arguments) {
    int width = Check.size(arguments, 640);
    int height = 3 * width / 4 + 1;
    float[] mean = {0.485f, 0.456f, 0.406f};
    float[] deviation = {0.229f, 0.224f, 0.225f};
    byte[] pixels = new byte[width * height * CHANNELS];
    new Random(5).nextBytes(pixels);
    float[] planes;
    try (UnifiedMemoryManager memory = UnifiedMemoryManager.create()) {
      planes = computed(memory, width, height, pixels, mean, deviation);
    }
    Check.that(
        Arrays.equals(planes, plain(pixels, mean, deviation)),
        "three planes of " + width + " x " + height + " are right, to the last bit");
  }
}

package dev.tidepool.benchmarks.trace;

import dev.tidepool.MemoryLocation;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.SplittableRandom;

/**
 * The allocations of a network like ResNet-50 (He et al., "Deep Residual Learning for Image
 * Recognition", 2015) during training with momentum. Parameters live throughout. Activations are
 * allocated in the forward pass and freed in the backward pass. Every convolution has a short-lived
 * workspace. Images are loaded ahead into pinned batches, and the last batch of an epoch is
 * smaller.
 */
final class ResNetTraining {
  private static final int STEPS = 40;
  private static final int STEPS_PER_EPOCH = 10;
  private static final int BATCH = 4;
  private static final int IMAGE = 128;
  private static final int BATCHES_AHEAD = 2;
  private static final int CLASSES = 1000;
  private static final int[] BLOCKS = {3, 4, 6, 3};
  private static final int EXPANSION = 4;

  /**
   * A convolution with its normalisation.
   *
   * @param parameters the number of learned values
   * @param activations the number of output values for each image
   * @param patch the number of input values of one output, which determines the workspace
   */
  private record Layer(long parameters, long activations, long patch) {
    static Layer convolution(int in, int out, int kernel, int side) {
      long patch = (long) in * kernel * kernel;
      return new Layer(patch * out + 2L * out, (long) out * side * side, patch);
    }
  }

  private final TraceWriter recorder;
  private final SplittableRandom random;
  private final List<Layer> layers = layers();
  private final List<Integer> forever = new ArrayList<>();
  private final Deque<Integer> loaded = new ArrayDeque<>();

  private ResNetTraining(TraceWriter recorder, long seed) {
    this.recorder = recorder;
    random = new SplittableRandom(seed);
  }

  static void write(TraceWriter recorder, long seed) {
    new ResNetTraining(recorder, seed).run();
  }

  private static List<Layer> layers() {
    List<Layer> layers = new ArrayList<>();
    int side = IMAGE / 2;
    layers.add(Layer.convolution(3, 64, 7, side));
    side /= 2;
    int in = 64;
    for (int stage = 0; stage < BLOCKS.length; stage++) {
      int width = 64 << stage;
      side /= stage == 0 ? 1 : 2;
      for (int block = 0; block < BLOCKS[stage]; block++) {
        layers.add(Layer.convolution(in, width, 1, side));
        layers.add(Layer.convolution(width, width, 3, side));
        layers.add(Layer.convolution(width, EXPANSION * width, 1, side));
        if (block == 0) {
          layers.add(Layer.convolution(in, EXPANSION * width, 1, side));
        }
        in = EXPANSION * width;
      }
    }
    layers.add(new Layer((in + 1L) * CLASSES, CLASSES, in));
    return layers;
  }

  private void run() {
    for (Layer layer : layers) {
      forever.add(device(layer.parameters()));
    }
    for (int ahead = 0; ahead < BATCHES_AHEAD; ahead++) {
      load(ahead);
    }
    for (int step = 0; step < STEPS; step++) {
      step(step);
    }
    loaded.forEach(recorder::free);
    forever.forEach(recorder::free);
  }

  private static int images(int step) {
    return step % STEPS_PER_EPOCH == STEPS_PER_EPOCH - 1 ? BATCH / 2 : BATCH;
  }

  private static long pixels(int step) {
    return 3L * IMAGE * IMAGE * images(step);
  }

  /** Decodes images of any size, and stores the batch. */
  private void load(int step) {
    int batch = recorder.allocate(4 * pixels(step), MemoryLocation.PINNED);
    for (int image = 0; image < images(step); image++) {
      long decoded = 3L * random.nextInt(200, 800) * random.nextInt(200, 800);
      recorder.free(recorder.allocate(decoded, MemoryLocation.HOST));
    }
    loaded.add(batch);
  }

  private void step(int step) {
    load(step + BATCHES_AHEAD);
    int images = images(step);
    int input = device(pixels(step));
    recorder.free(loaded.remove());
    Deque<Integer> activations = new ArrayDeque<>();
    for (Layer layer : layers) {
      workspace(layer, images);
      // The outputs of the convolution and of its normalisation.
      activations.push(device(layer.activations() * images));
      activations.push(device(layer.activations() * images));
    }
    List<Integer> gradients = backward(activations, images);
    recorder.free(input);
    if (step == 0) {
      // Momentum is allocated when the optimiser first needs it.
      for (Layer layer : layers) {
        forever.add(device(layer.parameters()));
      }
    }
    gradients.forEach(recorder::free);
  }

  private List<Integer> backward(Deque<Integer> activations, int images) {
    List<Integer> gradients = new ArrayList<>();
    int upstream = device((long) CLASSES * images);
    for (Layer layer : layers.reversed()) {
      int downstream = device(layer.activations() * images);
      recorder.free(activations.pop());
      recorder.free(upstream);
      workspace(layer, images);
      gradients.add(device(layer.parameters()));
      recorder.free(activations.pop());
      upstream = downstream;
    }
    recorder.free(upstream);
    return gradients;
  }

  /** Allocates patches of a part of the outputs side by side, and frees them. */
  private void workspace(Layer layer, int images) {
    long numbers = Math.min(layer.patch() * 1024, layer.activations() * images * 9);
    recorder.free(device(numbers));
  }

  private int device(long numbers) {
    return recorder.allocate(4 * numbers, MemoryLocation.DEVICE);
  }
}

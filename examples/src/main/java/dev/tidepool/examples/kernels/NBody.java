package dev.tidepool.examples.kernels;

import dev.tidepool.Arguments;
import dev.tidepool.ElementType;
import dev.tidepool.Kernel;
import dev.tidepool.KernelSource;
import dev.tidepool.LaunchRange;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.examples.Check;
import java.lang.invoke.MethodHandles;
import java.util.Arrays;
import java.util.Random;

/**
 * Bodies that attract each other. Every item reads all bodies, so a step reads one buffer and
 * writes another, and the next step swaps the two. Steps are queued without waiting for each other.
 * The item's index is the first parameter.
 */
public final class NBody {
  private static final int STEPS = 4;
  private static final float DT = 0.01f;
  private static final float SOFTENING = 0.01f;
  private static final KernelSource STEP = KernelSource.method(MethodHandles.lookup(), "step");

  private NBody() {}

  /** Moves one body. A body has x, y, z and mass; a velocity has three numbers. */
  static void step(int i, float dt, float[] bodies, float[] velocities, float[] moved) {
    float x = bodies[4 * i];
    float y = bodies[4 * i + 1];
    float z = bodies[4 * i + 2];
    float ax = 0;
    float ay = 0;
    float az = 0;
    for (int j = 0; j < bodies.length / 4; j++) {
      float dx = bodies[4 * j] - x;
      float dy = bodies[4 * j + 1] - y;
      float dz = bodies[4 * j + 2] - z;
      float square = dx * dx + dy * dy + dz * dz + SOFTENING;
      float pull = bodies[4 * j + 3] / (square * (float) Math.sqrt(square));
      ax += dx * pull;
      ay += dy * pull;
      az += dz * pull;
    }
    velocities[3 * i] += ax * dt;
    velocities[3 * i + 1] += ay * dt;
    velocities[3 * i + 2] += az * dt;
    moved[4 * i] = x + velocities[3 * i] * dt;
    moved[4 * i + 1] = y + velocities[3 * i + 1] * dt;
    moved[4 * i + 2] = z + velocities[3 * i + 2] * dt;
    moved[4 * i + 3] = bodies[4 * i + 3];
  }

  /** Returns the bodies after some steps, starting at rest. */
  static float[] moved(UnifiedMemoryManager memory, int steps, float[] bodies) {
    int count = bodies.length / 4;
    float[] result = new float[bodies.length];
    try (UnifiedBuffer<float[]> one = memory.copyOf(bodies);
        UnifiedBuffer<float[]> other = memory.allocate(ElementType.FLOAT, bodies.length);
        UnifiedBuffer<float[]> velocities = memory.copyOf(new float[3 * count])) {
      Kernel step = memory.compile(STEP);
      UnifiedBuffer<float[]> from = one;
      UnifiedBuffer<float[]> to = other;
      for (int s = 0; s < steps; s++) {
        Arguments arguments =
            Arguments.of("dt", DT, "bodies", from, "velocities", velocities, "moved", to);
        var _ = step.executeAsync(arguments, LaunchRange.of(count));
        UnifiedBuffer<float[]> written = to;
        to = from;
        from = written;
      }
      from.copyTo(result); // waits for the steps, and fails if one of them failed
    }
    return result;
  }

  /** Computes the result by plain Java, over a structure of arrays. */
  static float[] plain(int steps, float[] bodies) {
    int count = bodies.length / 4;
    float[][] position = new float[3][count];
    float[][] velocity = new float[3][count];
    for (int i = 0; i < 3 * count; i++) {
      position[i % 3][i / 3] = bodies[i / 3 * 4 + i % 3];
    }
    for (int s = 0; s < steps; s++) {
      for (int i = 0; i < count; i++) {
        float[] force = new float[3];
        for (int j = 0; j < count; j++) {
          float[] d = new float[3];
          for (int k = 0; k < 3; k++) {
            d[k] = position[k][j] - position[k][i];
          }
          float square = d[0] * d[0] + d[1] * d[1] + d[2] * d[2] + SOFTENING;
          float pull = bodies[4 * j + 3] / (square * (float) Math.sqrt(square));
          for (int k = 0; k < 3; k++) {
            force[k] += d[k] * pull;
          }
        }
        for (int k = 0; k < 3; k++) {
          velocity[k][i] += force[k] * DT;
        }
      }
      for (int i = 0; i < 3 * count; i++) {
        position[i % 3][i / 3] += velocity[i % 3][i / 3] * DT;
      }
    }
    float[] moved = bodies.clone();
    for (int i = 0; i < 3 * count; i++) {
      moved[i / 3 * 4 + i % 3] = position[i % 3][i / 3];
    }
    return moved;
  }

  /** Runs the example; the argument is the number of bodies, 2000 by default. */
  public static void main(String[] arguments) {
    float[] bodies = new float[4 * Check.size(arguments, 2000)];
    Random random = new Random(8);
    for (int i = 0; i < bodies.length; i++) {
      bodies[i] = random.nextFloat();
    }
    float[] moved;
    try (UnifiedMemoryManager memory = UnifiedMemoryManager.create()) {
      moved = moved(memory, STEPS, bodies);
    }
    Check.that(
        Arrays.equals(moved, plain(STEPS, bodies)),
        bodies.length / 4 + " bodies are where plain Java moves them, to the last bit");
  }
}

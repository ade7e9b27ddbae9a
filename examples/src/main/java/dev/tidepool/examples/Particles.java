package dev.tidepool.examples;

import dev.tidepool.Arguments;
import dev.tidepool.Kernel;
import dev.tidepool.KernelSource;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import java.util.Map;
import java.util.TreeMap;

/**
 * Particles as a structure of arrays: a buffer for each component, so that neighbouring work items
 * read neighbouring bytes. They fall, and bounce off the ground.
 */
public final class Particles {
  private static final int STEPS = 100;
  private static final float DT = 0.01f;
  private static final float GRAVITY = 9.81f;

  private Particles() {}

  /** A particle as most programs begin: an array of structures. */
  private record Particle(float x, float y, float vx, float vy) {
    Particle moved() {
      float falling = vy - GRAVITY * DT;
      float height = y + falling * DT;
      return new Particle(x + vx * DT, height, vx, height < 0 ? -falling : falling);
    }
  }

  /** The argument is the number of particles; 100,000 without one. */
  public static void main(String[] arguments) {
    Particle[] particles = new Particle[Check.size(arguments, 100_000)];
    for (int i = 0; i < particles.length; i++) {
      particles[i] = new Particle(i, i % 10 * 0.2f, i % 7 - 3, i % 5);
    }
    int count = particles.length;
    float[] x = new float[count];
    float[] y = new float[count];
    float[] vx = new float[count];
    float[] vy = new float[count];
    for (int i = 0; i < count; i++) {
      x[i] = particles[i].x();
      y[i] = particles[i].y();
      vx[i] = particles[i].vx();
      vy[i] = particles[i].vy();
    }
    try (UnifiedMemoryManager memory = UnifiedMemoryManager.create();
        UnifiedBuffer<float[]> xs = memory.copyOf(x);
        UnifiedBuffer<float[]> ys = memory.copyOf(y);
        UnifiedBuffer<float[]> vxs = memory.copyOf(vx);
        UnifiedBuffer<float[]> vys = memory.copyOf(vy)) {
      Kernel step =
          memory.compile(
              KernelSource.elementwise(
                  "falling = vy - g*dt; y = y + falling*dt; x = x + vx*dt;"
                      + " vy = y < 0 ? -falling : falling"));
      Map<String, Object> named = new TreeMap<>(Map.of("x", xs, "y", ys, "vx", vxs, "vy", vys));
      Arguments all = Arguments.of(named).with("g", GRAVITY).with("dt", DT);
      for (int i = 0; i < STEPS; i++) {
        step.execute(all); // the particles stay where they are computed
      }
      xs.copyTo(x);
      ys.copyTo(y);
      vys.copyTo(vy);
    }
    boolean right = true;
    for (int i = 0; i < count; i++) {
      Particle particle = particles[i];
      for (int s = 0; s < STEPS; s++) {
        particle = particle.moved();
      }
      right &= x[i] == particle.x() && y[i] == particle.y() && vy[i] == particle.vy();
    }
    Check.that(right, count + " particles are where a loop over structures takes them");
  }
}

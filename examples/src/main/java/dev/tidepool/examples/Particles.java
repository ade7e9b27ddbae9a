package dev.tidepool.examples;

import dev.tidepool.Arguments;
import dev.tidepool.ElementType;
import dev.tidepool.Kernel;
import dev.tidepool.KernelSource;
import dev.tidepool.StructOfArrays;
import dev.tidepool.UnifiedMemoryManager;

/**
 * Particles as a structure of arrays: one buffer for each component, so that neighbouring work
 * items read neighbouring bytes. The particles fall, and bounce off the ground.
 */
public final class Particles {
  private static final int STEPS = 100;
  private static final float DT = 0.01f;
  private static final float GRAVITY = 9.81f;

  private Particles() {}

  /**
   * A particle.
   *
   * @param x the horizontal position
   * @param y the height
   * @param vx the horizontal velocity
   * @param vy the upward velocity
   */
  public record Particle(float x, float y, float vx, float vy) {
    Particle moved() {
      float falling = vy - GRAVITY * DT;
      float height = y + falling * DT;
      return new Particle(x + vx * DT, height, vx, height < 0 ? -falling : falling);
    }
  }

  /** Runs the example; the argument is the number of particles, 100,000 by default. */
  public static void main(String[] arguments) {
    Particle[] before = new Particle[Check.size(arguments, 100_000)];
    for (int i = 0; i < before.length; i++) {
      before[i] = new Particle(i, i % 10 * 0.2f, i % 7 - 3, i % 5);
    }
    Particle[] after = new Particle[before.length];
    try (UnifiedMemoryManager memory = UnifiedMemoryManager.create();
        StructOfArrays<Particle> particles =
            memory.allocateStructOfArrays(Particle.class, before.length)) {
      particles.copyFrom(before);
      Kernel step =
          memory.compile(
              KernelSource.elementwise(
                  "falling = vy - g*dt; y = y + falling*dt; x = x + vx*dt;"
                      + " vy = y < 0 ? -falling : falling"));
      Arguments all = Arguments.of("g", GRAVITY, "dt", DT);
      for (String name : particles.names()) {
        all = all.with(name, particles.component(name, ElementType.FLOAT));
      }
      for (int i = 0; i < STEPS; i++) {
        step.execute(all); // the particles stay on the device
      }
      particles.copyTo(after);
    }
    boolean right = true;
    for (int i = 0; i < before.length; i++) {
      Particle particle = before[i];
      for (int s = 0; s < STEPS; s++) {
        particle = particle.moved();
      }
      right &= after[i].equals(particle);
    }
    Check.that(right, before.length + " particles are where a loop over structures takes them");
  }
}

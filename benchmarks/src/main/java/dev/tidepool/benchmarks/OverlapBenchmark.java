package dev.tidepool.benchmarks;

import dev.tidepool.Arguments;
import dev.tidepool.ElementType;
import dev.tidepool.Kernel;
import dev.tidepool.KernelSource;
import dev.tidepool.MemoryLocation;
import dev.tidepool.MemoryOptions;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.spi.Discovery;
import dev.tidepool.stream.Pipeline;
import dev.tidepool.stream.StreamOptions;
import dev.tidepool.testkit.simulated.SimulatedHardware;
import dev.tidepool.testkit.simulated.SimulatedLink;
import dev.tidepool.testkit.simulated.SimulatedLink.Speed;
import dev.tidepool.testkit.simulated.SimulatedProvider;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/**
 * A pipeline of copy in, compute and copy out, compared with its three stages alone. On simulated
 * devices the stages take equally long, each on its own part of the device. The ideal is the
 * longest stage, plus two chunks to fill and to drain. The same is measured on the first OpenCL
 * device, treated as one with its own memory. If the device is a processor, all stages compete for
 * it. The ideal is then the longest stage, or the processor time of all stages divided by the
 * number of processors. Prints medians as a Markdown table. A program of its own, because it
 * computes the ideal.
 */
public final class OverlapBenchmark {
  private static final int LENGTH = 32 << 20;
  private static final int CHUNK = 8 << 20;
  private static final int RUNS = 5;

  private OverlapBenchmark() {}

  /** Runs everything; an argument sets the number of runs of each row. */
  public static void main(String[] arguments) {
    int runs = arguments.length > 0 ? Integer.parseInt(arguments[0]) : RUNS;
    System.out.println("| device | in | compute | out | ideal | pipeline | of the ideal |");
    System.out.println("|---|---|---|---|---|---|---|");
    for (int speed : new int[] {125, 250, 500, 1000}) {
      SimulatedLink link =
          SimulatedLink.both(Speed.of(50, speed), Speed.of(50, speed / 2))
              .withLocal(Speed.of(50, 2L * speed));
      SimulatedHardware hardware =
          SimulatedHardware.discrete().withMemory(1 << 30).withPinned(1 << 30).withLink(link);
      try (Tidepool tidepool =
          Discovery.using(
              List.of(new SimulatedProvider(hardware)),
              () -> Tidepool.open(MemoryOptions.builder().calibration(true).build()))) {
        UnifiedMemoryManager memory = tidepool.memory(tidepool.accelerator("simulated:0"));
        row(memory, "y = 2*x + 1", "simulated, " + speed + " MiB/s", false, runs);
      }
    }
    try (Tidepool tidepool = Machines.open("discrete")) {
      UnifiedMemoryManager memory = tidepool.memory(Machines.openCl(tidepool));
      row(memory, "y = 2*x + 1", "PoCL, 2x + 1", true, runs);
      row(memory, "y = exp(-x)*sin(x)", "PoCL, exp(-x) sin(x)", true, runs);
    }
  }

  private static void row(
      UnifiedMemoryManager memory, String computed, String name, boolean competing, int runs) {
    try (UnifiedBuffer<float[]> in =
            memory.allocate(ElementType.FLOAT, LENGTH, MemoryLocation.PINNED);
        UnifiedBuffer<float[]> out =
            memory.allocate(ElementType.FLOAT, LENGTH, MemoryLocation.PINNED)) {
      in.fill((byte) 1);
      out.fill((byte) 1);
      double[] stages = stages(memory, computed, in, out, runs);
      Pipeline pipeline = Pipeline.from("x", in).through(computed).to("y", out).on(memory);
      pipeline.run(StreamOptions.defaults());
      double piped = median(runs, () -> pipeline.run(StreamOptions.defaults()));
      double longest = Math.max(Math.max(stages[0], stages[1]), stages[2]);
      double ideal = longest * (1 + 2.0 * CHUNK / (LENGTH * 4L));
      if (competing) {
        int processors = Runtime.getRuntime().availableProcessors();
        ideal = Math.max(longest, stages[1] + (stages[0] + stages[2]) / processors);
      }
      System.out.printf(
          Locale.ROOT,
          "| %s | %.1f ms | %.1f ms | %.1f ms | %.1f ms | %.1f ms | %.2f |%n",
          name,
          stages[0],
          stages[1],
          stages[2],
          ideal,
          piped,
          ideal / piped);
    }
  }

  /** Returns the times of copying in, computing and copying out, each measured alone. */
  private static double[] stages(
      UnifiedMemoryManager memory,
      String computed,
      UnifiedBuffer<float[]> in,
      UnifiedBuffer<float[]> out,
      int runs) {
    try (UnifiedBuffer<float[]> x = memory.allocate(ElementType.FLOAT, LENGTH);
        UnifiedBuffer<float[]> y = memory.allocate(ElementType.FLOAT, LENGTH)) {
      x.copyFrom(in);
      Kernel kernel = memory.compile(KernelSource.elementwise(computed));
      Arguments arguments = Arguments.of("x", x, "y", y);
      kernel.execute(arguments);
      return new double[] {
        median(runs, () -> x.copyFrom(in)),
        median(runs, () -> kernel.execute(arguments)),
        median(runs, () -> out.copyFrom(y))
      };
    }
  }

  private static double median(int runs, Runnable action) {
    double[] times = new double[runs];
    for (int i = 0; i < runs; i++) {
      long start = System.nanoTime();
      action.run();
      times[i] = (System.nanoTime() - start) / 1e6;
    }
    Arrays.sort(times);
    return times[runs / 2];
  }
}

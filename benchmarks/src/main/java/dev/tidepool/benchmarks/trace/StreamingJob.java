package dev.tidepool.benchmarks.trace;

import dev.tidepool.MemoryLocation;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.SplittableRandom;

/**
 * The allocations of a streaming job. Messages of varied length arrive through pinned buffers,
 * sometimes ten times as many for a while. They are decoded into the columns of the newest window
 * of a ring. In each tick a window begins, and the oldest one is aggregated and freed.
 */
final class StreamingJob {
  private static final int TICKS = 600;
  private static final int WINDOWS = 12;
  private static final int COLUMNS = 6;
  private static final int CALM_MESSAGES = 4;
  private static final int BURST_FACTOR = 10;
  private static final double BURST_BEGINS = 0.03;
  private static final double BURST_ENDS = 0.25;
  private static final int SHORTEST_MESSAGE = 8 << 10;
  private static final int LONGEST_MESSAGE = 256 << 10;
  private static final int IN_FLIGHT = 8;

  private final TraceWriter recorder;
  private final SplittableRandom random;
  private final Deque<List<Integer>> ring = new ArrayDeque<>();
  private final Deque<Integer> inFlight = new ArrayDeque<>();

  private StreamingJob(TraceWriter recorder, long seed) {
    this.recorder = recorder;
    random = new SplittableRandom(seed);
  }

  static void write(TraceWriter recorder, long seed) {
    new StreamingJob(recorder, seed).run();
  }

  private void run() {
    boolean burst = false;
    for (int tick = 0; tick < TICKS; tick++) {
      burst = random.nextDouble() < (burst ? 1 - BURST_ENDS : BURST_BEGINS);
      int mean = CALM_MESSAGES * (burst ? BURST_FACTOR : 1);
      ring.add(window(random.nextInt(mean / 2, mean * 3 / 2 + 1)));
      if (ring.size() > WINDOWS) {
        aggregate(ring.remove());
      }
    }
    inFlight.forEach(recorder::free);
    ring.forEach(window -> window.forEach(recorder::free));
  }

  private List<Integer> window(int messages) {
    List<Integer> columns = new ArrayList<>();
    for (int message = 0; message < messages; message++) {
      long bytes = random.nextLong(SHORTEST_MESSAGE, LONGEST_MESSAGE);
      inFlight.add(recorder.allocate(bytes, MemoryLocation.PINNED));
      if (inFlight.size() > IN_FLIGHT) {
        recorder.free(inFlight.remove());
      }
      for (int column = 0; column < COLUMNS; column++) {
        columns.add(recorder.allocate(bytes / COLUMNS, MemoryLocation.DEVICE));
      }
    }
    return columns;
  }

  private void aggregate(List<Integer> window) {
    int sums = recorder.allocate(64 << 10, MemoryLocation.DEVICE);
    int result = recorder.allocate(16 << 10, MemoryLocation.HOST);
    window.forEach(recorder::free);
    recorder.free(sums);
    recorder.free(result);
  }
}

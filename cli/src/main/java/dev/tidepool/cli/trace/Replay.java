package dev.tidepool.cli.trace;

import dev.tidepool.ElementType;
import dev.tidepool.MemoryLocation;
import dev.tidepool.MemoryStatistics;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The figures of a trace replayed on a memory manager. The first fifth of the events is the
 * warm-up; figures named {@code warm} exclude it.
 *
 * @param nanos the time from the first event to the last
 * @param allocations the buffers allocated
 * @param driverCalls the allocations from the driver or the operating system
 * @param warmAllocations the buffers allocated after the warm-up
 * @param warmDriverCalls the driver calls after the warm-up
 * @param warmHitRate the fraction of blocks that a pool served after the warm-up, from 0 to 1
 * @param peakLive the most bytes of open buffers at one time, as requested
 * @param peakReserved the most bytes held from the driver and the operating system at one time
 */
public record Replay(
    long nanos,
    long allocations,
    long driverCalls,
    long warmAllocations,
    long warmDriverCalls,
    double warmHitRate,
    long peakLive,
    long peakReserved) {

  private static final int WARM_UP_PART = 5;

  /** Returns the peak of held bytes divided by the peak of live bytes; 1 if nothing was live. */
  public double reservedPerLive() {
    return peakLive == 0 ? 1 : (double) peakReserved / peakLive;
  }

  /**
   * Replays a trace on the calling thread.
   *
   * @param memory an unused manager
   * @param fill whether each buffer is filled once, as programs do
   */
  public static Replay of(Trace trace, UnifiedMemoryManager memory, boolean fill) {
    Buffers buffers = new Buffers(trace.buffers(), memory, fill);
    try {
      int warm = trace.events() / WARM_UP_PART;
      long start = System.nanoTime();
      trace.visit(0, warm, buffers);
      MemoryStatistics before = memory.statistics();
      trace.visit(warm, trace.events(), buffers);
      long nanos = System.nanoTime() - start;
      MemoryStatistics after = memory.statistics();
      long hits = after.poolHits() - before.poolHits();
      long misses = after.poolMisses() - before.poolMisses();
      return new Replay(
          nanos,
          after.totalAllocations(),
          after.driverAllocations(),
          after.totalAllocations() - before.totalAllocations(),
          after.driverAllocations() - before.driverAllocations(),
          hits + misses == 0 ? 1 : (double) hits / (hits + misses),
          after.peakUsage(),
          after.peakReserved());
    } finally {
      buffers.closeAll();
    }
  }

  /** The buffers of a replay, by their numbers in the trace. */
  private static final class Buffers implements Trace.Visitor {
    private final List<@Nullable UnifiedBuffer<byte[]>> open;
    private final UnifiedMemoryManager memory;
    private final boolean fill;

    Buffers(int count, UnifiedMemoryManager memory, boolean fill) {
      this.open = new ArrayList<>(count);
      this.memory = memory;
      this.fill = fill;
    }

    @Override
    public void allocated(int number, long bytes, MemoryLocation location) {
      UnifiedBuffer<byte[]> buffer = memory.allocate(ElementType.BYTE, bytes, location);
      open.add(buffer);
      if (fill) {
        buffer.fill((byte) 1);
      }
    }

    @Override
    public void freed(int number) {
      close(open.set(number, null));
    }

    void closeAll() {
      open.forEach(Buffers::close);
    }

    private static void close(@Nullable UnifiedBuffer<byte[]> buffer) {
      if (buffer != null) {
        buffer.close();
      }
    }
  }
}

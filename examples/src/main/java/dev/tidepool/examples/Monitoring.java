package dev.tidepool.examples;

import dev.tidepool.Allocation;
import dev.tidepool.ElementType;
import dev.tidepool.MemoryLocation;
import dev.tidepool.MemoryOptions;
import dev.tidepool.MemoryStatistics;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.diagnostics.DiagnosticReport;
import dev.tidepool.diagnostics.LeakReport;
import dev.tidepool.diagnostics.MemoryPressure;
import dev.tidepool.diagnostics.PeakScope;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** Monitoring: statistics, a warning before memory is full, and a report of every leak. */
public final class Monitoring {
  private static final long LIMIT = 64 << 20;

  private Monitoring() {}

  /** Runs the example, which takes no arguments. */
  public static void main(String[] arguments) {
    CompletableFuture<MemoryPressure> warning = new CompletableFuture<>();
    CompletableFuture<DiagnosticReport> leak = new CompletableFuture<>();
    MemoryOptions options =
        MemoryOptions.builder()
            .memoryLimit(LIMIT)
            .watermarks(0.5)
            .pressureListener(warning::complete)
            .reportListener(leak::complete)
            .build();
    try (UnifiedMemoryManager memory = UnifiedMemoryManager.create(options)) {
      try (PeakScope peak = memory.pushPeak("load");
          UnifiedBuffer<byte[]> model = bytes(memory, 24 << 20, "model");
          UnifiedBuffer<byte[]> batch = bytes(memory, 16 << 20, "batch")) {
        MemoryStatistics now = memory.statistics();
        System.out.printf(
            "%d of %d MiB in use, %d buffers, hit rate %.0f%%%n",
            now.totalAllocated() >> 20, LIMIT >> 20, now.activeBuffers(), 100 * now.hitRate());
        memory.bytesByTag().forEach((tag, size) -> System.out.println("  " + tag + ": " + size));
        Check.that(
            memory.bytesByTag().equals(Map.of("model", model.byteSize(), "batch", batch.byteSize()))
                && now.totalAllocated() == model.byteSize() + batch.byteSize(),
            "the bytes of each owner add up to the whole");
        Check.that(peak.peakBytes() == now.totalAllocated(), "the peak of the scope is known");
        MemoryPressure reported = warning.orTimeout(1, TimeUnit.MINUTES).join();
        Check.that(
            reported.usedBytes() >= LIMIT / 2,
            "the listener is told when half of the limit is in use");
      }
      Check.that(memory.statistics().activeBuffers() == 0, "nothing is left of the two buffers");
      forget(memory);
    }
    DiagnosticReport report = leak.orTimeout(1, TimeUnit.MINUTES).join();
    System.out.println(report);
    Check.that(
        report instanceof LeakReport found && found.tag().equals("forgotten"),
        "a buffer that was not closed is reported with its tag");
  }

  private static void forget(UnifiedMemoryManager memory) {
    bytes(memory, 1000, "forgotten").fill((byte) 1);
  }

  private static UnifiedBuffer<byte[]> bytes(UnifiedMemoryManager memory, long size, String tag) {
    return memory.allocate(ElementType.BYTE, size, Allocation.at(MemoryLocation.DEVICE).tag(tag));
  }
}

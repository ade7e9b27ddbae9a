package dev.tidepool.cli;

import dev.tidepool.Allocation;
import dev.tidepool.ElementType;
import dev.tidepool.MemoryLocation;
import dev.tidepool.MemoryOptions;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.diagnostics.DiagnosticsLevel;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;

/** Snapshots of programs whose faults are known. */
final class Snapshots {
  /** A tag that would end a script, and one that begins another. */
  static final String EVIL_TAG = "</script><script>document.title='owned'</script><!-- {{style}}";

  private Snapshots() {}

  /**
   * A program in which {@code leak()} alone forgets to close, after so many allocations and frees.
   */
  static Path withLeak(Path file, int events) {
    MemoryOptions options =
        MemoryOptions.builder()
            .diagnostics(DiagnosticsLevel.SITES)
            .siteSampling(1)
            .history(events)
            .build();
    try (Tidepool tidepool = Tidepool.open(options)) {
      UnifiedMemoryManager memory = tidepool.memory(tidepool.accelerator("cpu:0"));
      Deque<UnifiedBuffer<?>> passing = new ArrayDeque<>();
      List<UnifiedBuffer<?>> forgotten = new ArrayList<>();
      for (int i = 0; i < events / 2; i++) {
        passing.add(orderly(memory, i));
        if (passing.size() > 100) {
          passing.remove().close();
        }
        if (i % 50 == 0) {
          forgotten.add(leak(memory));
        }
      }
      memory.snapshot().writeTo(file);
      passing.forEach(UnifiedBuffer::close);
      forgotten.forEach(UnifiedBuffer::close);
    }
    return file;
  }

  private static UnifiedBuffer<?> orderly(UnifiedMemoryManager memory, int number) {
    String tag = number % 11 == 0 ? EVIL_TAG : "stage " + number % 11;
    return memory.allocate(
        ElementType.FLOAT, 100 + number % 5000, Allocation.at(MemoryLocation.DEVICE).tag(tag));
  }

  private static UnifiedBuffer<?> leak(UnifiedMemoryManager memory) {
    return memory.allocate(
        ElementType.BYTE, 70_000, Allocation.at(MemoryLocation.HOST).tag("session cache"));
  }
}

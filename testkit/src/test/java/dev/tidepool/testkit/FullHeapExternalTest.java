package dev.tidepool.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.ElementType;
import dev.tidepool.MapMode;
import dev.tidepool.MemoryLocation;
import dev.tidepool.MemoryOptions;
import dev.tidepool.NativeHandle;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.spi.Discovery;
import dev.tidepool.testkit.simulated.SimulatedHardware;
import dev.tidepool.testkit.simulated.SimulatedProvider;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A heap that is full anywhere while a buffer is made over memory that no pool owns leaves the
 * memory its owner's, and no buffer that has it.
 */
@ExtendWith(QuietLog.class)
@Timeout(240)
class FullHeapExternalTest {
  /** Calls in a row that no allocation failed in until the last allocation was seen. */
  private static final int ENOUGH = 3;

  private static final int BYTES = 4096;

  @TempDir private static Path directory;

  @ParameterizedTest
  @ValueSource(strings = {"cpu:0", "simulated:0"})
  void nothingIsListedAndNothingIsFreedTwice(String accelerator) throws Exception {
    FullHeap.run(Scenario.class, String[].class, new String[] {accelerator, directory.toString()});
  }

  /** What the test does, with a library whose heap can be full. */
  static final class Scenario implements Callable<Void> {
    private final String accelerator;
    private final Path directory;
    private final AtomicInteger released = new AtomicInteger();
    private int shared;

    Scenario(String[] arguments) {
      accelerator = arguments[0];
      directory = Path.of(arguments[1]);
    }

    @Override
    public Void call() throws IOException {
      SimulatedProvider simulated = new SimulatedProvider(SimulatedHardware.discrete());
      MemoryOptions options = MemoryOptions.builder().sharedDirectory(directory).build();
      Tidepool tidepool = Discovery.using(List.of(simulated), () -> Tidepool.open(options));
      UnifiedMemoryManager memory = tidepool.memory(tidepool.accelerator(accelerator));
      Path file = Files.write(directory.resolve("mapped"), new byte[BYTES]);
      try (Arena arena = Arena.ofShared()) {
        MemorySegment segment = arena.allocate(BYTES, BYTES);
        Map<String, Supplier<UnifiedBuffer<byte[]>>> calls = new LinkedHashMap<>();
        calls.put("wrap", () -> memory.wrap(ElementType.BYTE, segment));
        calls.put("map", () -> memory.map(file, ElementType.BYTE, MapMode.READ_WRITE));
        calls.put(
            "adopt",
            () ->
                memory.adopt(
                    ElementType.BYTE, NativeHandle.of(segment), released::incrementAndGet));
        calls.put(
            "share",
            () ->
                memory.createShared(
                    ElementType.BYTE, BYTES, "heap" + shared++, MemoryLocation.HOST));
        calls.forEach((name, call) -> failEverywhere(memory, name, call));
      }
      tidepool.close();
      Leftovers.assertNone(simulated);
      return null;
    }

    /** Lets each allocation of a call fail. */
    private void failEverywhere(
        UnifiedMemoryManager memory, String name, Supplier<UnifiedBuffer<byte[]>> call) {
      call.get().close();
      released.set(0);
      int made = 0;
      int clean = 0;
      for (int number = 0; clean < ENOUGH; number++) {
        UnifiedBuffer<byte[]> buffer = null;
        boolean failed;
        FullHeap.fillUpAfter(number, false);
        try {
          buffer = call.get();
        } catch (OutOfMemoryError full) {
          // There is no buffer.
        } finally {
          failed = FullHeap.clear();
        }
        clean = failed ? 0 : clean + 1;
        String where = name + " with a full heap after " + number + " allocations";
        if (buffer != null) {
          assertThat(memory.buffers()).as(where).hasSize(1);
          buffer.close();
          made++;
        }
        assertThat(memory.buffers()).as(where).isEmpty();
        assertThat(memory.statistics().activeBuffers()).as(where).isZero();
        assertThat(memory.statistics().totalAllocated()).as(where).isZero();
        assertThat(mappings()).as(where).isZero();
      }
      assertThat(released.get()).as(name).isEqualTo(name.equals("adopt") ? made : 0);
    }

    /** Mappings of the directory's files, where the system tells. */
    private long mappings() {
      try {
        Path maps = Path.of("/proc/self/maps");
        return Files.exists(maps)
            ? Files.readAllLines(maps).stream()
                .filter(line -> line.contains(directory.toString()))
                .count()
            : 0;
      } catch (IOException e) {
        throw new AssertionError(e);
      }
    }
  }
}

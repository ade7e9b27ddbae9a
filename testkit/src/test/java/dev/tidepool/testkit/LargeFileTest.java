package dev.tidepool.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.abort;

import dev.tidepool.ElementType;
import dev.tidepool.MapMode;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.spi.Discovery;
import dev.tidepool.stream.Pipeline;
import dev.tidepool.stream.StreamOptions;
import dev.tidepool.testkit.conformance.Patterns;
import dev.tidepool.testkit.simulated.SimulatedHardware;
import dev.tidepool.testkit.simulated.SimulatedProvider;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A mapped file that is larger than any memory here; most of it was never written. */
class LargeFileTest {
  private static final long ELEMENTS = 1L << 36;
  private static final int WANTED = 300_000;

  @TempDir private Path folder;

  private Path file() {
    Path file = folder.resolve("large");
    try (FileChannel channel =
        FileChannel.open(file, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
      channel.write(ByteBuffer.allocate(1), ELEMENTS * Float.BYTES - 1);
    } catch (IOException e) {
      abort("no file with holes is available here: " + e);
    }
    return file;
  }

  @Test
  void isCopiedFromComputedWithAndWrittenWhereItIsWanted() {
    SimulatedProvider simulated = new SimulatedProvider(SimulatedHardware.discrete());
    try (Tidepool tidepool = Discovery.using(List.of(simulated), Tidepool::open)) {
      for (String id : List.of("cpu:0", "simulated:0")) {
        UnifiedMemoryManager memory = tidepool.memory(tidepool.accelerator(id));
        float[] pattern = Patterns.array(ElementType.FLOAT, WANTED, id.length());
        Path file = file();
        try (UnifiedBuffer<float[]> all = memory.map(file, ElementType.FLOAT, MapMode.READ_WRITE);
            UnifiedBuffer<float[]> end = all.slice(ELEMENTS - WANTED, WANTED);
            UnifiedBuffer<float[]> middle = all.slice(ELEMENTS / 2, WANTED);
            UnifiedBuffer<float[]> device = memory.allocate(ElementType.FLOAT, WANTED)) {
          device.copyFrom(pattern);
          end.copyFrom(device);
          Pipeline.from("x", end)
              .through("y = -x")
              .to("y", middle)
              .on(memory)
              .run(StreamOptions.defaults().withMemoryLimit(1 << 20));
          device.copyFrom(middle);
          float[] seen = new float[WANTED];
          device.copyTo(seen);
          for (int i = 0; i < WANTED; i++) {
            pattern[i] = -pattern[i];
          }
          Patterns.assertEqual(seen, pattern, "what went all the way on " + id);
        }
        assertThat(file.toFile().delete()).isTrue();
      }
    }
    assertThat(simulated.violations()).isEmpty();
  }
}

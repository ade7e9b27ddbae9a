package dev.tidepool.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.Arguments;
import dev.tidepool.ElementType;
import dev.tidepool.KernelSource;
import dev.tidepool.MemoryOptions;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.spi.Discovery;
import dev.tidepool.stream.NpyHeader;
import dev.tidepool.stream.NpyReader;
import dev.tidepool.stream.NpyType;
import dev.tidepool.stream.NpyWriter;
import dev.tidepool.testkit.simulated.SimulatedHardware;
import dev.tidepool.testkit.simulated.SimulatedProvider;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Buffers that are written to {@code .npy} files and filled from them. */
class NpyBuffersTest {
  @TempDir private Path folder;
  private Tidepool tidepool;
  private UnifiedMemoryManager memory;

  @BeforeEach
  void open() {
    SimulatedProvider simulated = new SimulatedProvider(SimulatedHardware.discrete());
    tidepool = Discovery.using(List.of(simulated), () -> Tidepool.open(MemoryOptions.defaults()));
    memory = tidepool.memory(tidepool.accelerator("simulated:0"));
  }

  @AfterEach
  void close() {
    tidepool.close();
  }

  private Path written(float... elements) {
    Path path = folder.resolve("x.npy");
    NpyHeader header = NpyHeader.of(NpyType.FLOAT32, false, List.of((long) elements.length));
    try (NpyWriter writer = NpyWriter.create(path, header, true);
        UnifiedBuffer<float[]> x = memory.copyOf(elements)) {
      // Leaves the newest bytes on the device.
      memory.compile(KernelSource.elementwise("x = x + 1")).execute(Arguments.of("x", x));
      writer.write(0, x);
      writer.commit();
    }
    return path;
  }

  @Test
  void newerBytesOfTheDeviceAreWrittenAndReadBackAtAnyPosition() {
    try (NpyReader reader = NpyReader.open(written(1, 2, 3, 4));
        UnifiedBuffer<float[]> y = memory.copyOf(new float[] {9, 9, 9})) {
      reader.read(1, y.slice(1, 2));
      memory.compile(KernelSource.elementwise("y = 2 * y")).execute(Arguments.of("y", y));
      float[] found = new float[3];
      y.copyTo(found);
      assertThat(found).containsExactly(18, 6, 8);
    }
  }

  @Test
  void aBufferOfAnotherTypeIsRefused() {
    NpyHeader header = NpyHeader.of(NpyType.FLOAT64, false, List.of(2L));
    try (NpyReader reader = NpyReader.open(written(1, 2));
        NpyWriter writer = NpyWriter.create(folder.resolve("y.npy"), header, false);
        UnifiedBuffer<int[]> ints = memory.allocate(ElementType.INT, 2);
        UnifiedBuffer<float[]> floats = memory.allocate(ElementType.FLOAT, 2)) {
      assertThatThrownBy(() -> reader.read(0, ints))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("x.npy has elements of FLOAT (float32)")
          .hasMessageContaining("allocate the buffer with the elementType() of the file");
      assertThatThrownBy(() -> writer.write(0, floats))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("y.npy has elements of DOUBLE (float64)");
    }
  }

  @Test
  void aRangeOutsideOfTheFileLeavesTheBufferAsItWas() {
    try (NpyReader reader = NpyReader.open(written(1, 2));
        UnifiedBuffer<float[]> y = memory.copyOf(new float[] {7, 8})) {
      assertThatThrownBy(() -> reader.read(1, y)).isInstanceOf(IndexOutOfBoundsException.class);
      float[] found = new float[2];
      y.copyTo(found);
      assertThat(found).containsExactly(7, 8);
    }
  }
}

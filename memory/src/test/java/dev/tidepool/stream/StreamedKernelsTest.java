package dev.tidepool.stream;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.Arguments;
import dev.tidepool.ComputeOrchestrator;
import dev.tidepool.ElementType;
import dev.tidepool.ExecutionOptions;
import dev.tidepool.Kernel;
import dev.tidepool.KernelParameter;
import dev.tidepool.KernelSource;
import dev.tidepool.LaunchRange;
import dev.tidepool.Tidepool;
import dev.tidepool.TransferException;
import dev.tidepool.UnifiedBuffer;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Kernels by name take files as arguments. */
class StreamedKernelsTest {
  @TempDir Path folder;
  private final Tidepool tidepool = Tidepool.open();
  private final ComputeOrchestrator orchestrator = tidepool.orchestrator();
  private Path x;
  private Path y;

  @BeforeEach
  void input() {
    x = folder.resolve("x.npy");
    y = folder.resolve("y.npy");
    try (NpyWriter writer =
        NpyWriter.create(x, NpyHeader.of(NpyType.FLOAT32, false, List.of(2L, 2L)), false)) {
      writer.write(0, MemorySegment.ofArray(new float[] {1, 2, 3, 4}));
      writer.commit();
    }
    orchestrator.register("scale", KernelSource.elementwise("y = a * x"));
  }

  @AfterEach
  void close() {
    assertThat(tidepool.memory().buffers()).isEmpty();
    tidepool.close();
  }

  private static float[] floats(Path file) {
    try (NpyReader reader = NpyReader.open(file)) {
      float[] values = new float[(int) reader.length()];
      reader.read(0, MemorySegment.ofArray(values));
      return values;
    }
  }

  @Test
  void aFileIsReadAndAnotherOneWritten() throws IOException {
    orchestrator.execute("scale", Arguments.of("a", 2, "x", x, "y", y));

    assertThat(floats(y)).containsExactly(2, 4, 6, 8);
    try (NpyReader reader = NpyReader.open(y)) {
      assertThat(reader.header().shape()).containsExactly(2L, 2L);
    }
    NpyFiles.assertFolderHolds(folder, "x.npy", "y.npy");
  }

  @Test
  void inTheBackgroundToo() {
    orchestrator.executeAsync("scale", Arguments.of("a", 3, "x", x, "y", y)).join();

    assertThat(floats(y)).containsExactly(3, 6, 9, 12);
  }

  @Test
  void aFileThatIsReadAndWrittenIsReplaced() {
    orchestrator.register("add", KernelSource.elementwise("x = x + 1"));
    orchestrator.execute("add", Arguments.of("x", x));

    assertThat(floats(x)).containsExactly(2, 3, 4, 5);
  }

  @Test
  void aFileThatIsOnlyWrittenIsNotReplacedBesideOneThatIsUpdated() {
    orchestrator.execute("scale", Arguments.of("a", 2, "x", x, "y", y));
    orchestrator.register("both", KernelSource.elementwise("y = x; x = x + 1"));

    assertThatThrownBy(() -> orchestrator.execute("both", Arguments.of("x", x, "y", y)))
        .isInstanceOf(TransferException.class)
        .hasMessageContaining("y.npy exists");
    assertThat(floats(x)).containsExactly(1, 2, 3, 4);
    assertThat(floats(y)).containsExactly(2, 4, 6, 8);
  }

  @Test
  void handWrittenKernelsAndBuffersStandBesideFiles() {
    orchestrator.register(
        "negate",
        KernelSource.java(
            item -> {
              long at = 4 * item.globalId(0);
              float value = item.array(0).get(ValueLayout.JAVA_FLOAT_UNALIGNED, at);
              item.array(1).set(ValueLayout.JAVA_FLOAT_UNALIGNED, at, -value);
            },
            KernelParameter.in("x", ElementType.FLOAT),
            KernelParameter.out("y", ElementType.FLOAT)));
    try (UnifiedBuffer<float[]> out = tidepool.memory().allocate(ElementType.FLOAT, 4)) {
      orchestrator.execute("negate", Arguments.of("x", x, "y", out));
      float[] found = new float[4];
      out.copyTo(found);

      assertThat(found).containsExactly(-1, -2, -3, -4);
    }
  }

  @Test
  void whatDoesNotFitIsTold() {
    orchestrator.execute("scale", Arguments.of("a", 2, "x", x, "y", y));
    assertThatThrownBy(() -> orchestrator.execute("scale", Arguments.of("a", 2, "x", x, "y", y)))
        .isInstanceOf(TransferException.class)
        .hasMessageContaining("y.npy exists");
    assertThatThrownBy(() -> orchestrator.execute("scale", Arguments.of("a", 2, "y", y)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("reads nothing");
    assertThatThrownBy(
            () ->
                orchestrator.execute(
                    "scale",
                    Arguments.of("a", 2, "x", x, "y", y),
                    ExecutionOptions.defaults().over(LaunchRange.of(4))))
        .hasMessageContaining("takes no range");
    assertThatThrownBy(() -> orchestrator.execute("scale", Arguments.of("a", 2, "x", x, "z", y)))
        .hasMessageContaining("has no 'z'");
    Kernel kernel = tidepool.memory().compile(KernelSource.elementwise("y = x"));
    assertThatThrownBy(() -> kernel.execute(Arguments.of("x", x, "y", y)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("by name with the orchestrator");
  }
}

package dev.tidepool.stream;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.KernelSource;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.WorkItem;
import java.io.IOException;
import java.lang.invoke.MethodHandles;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CancellationException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Pipelines whose kernels are Java methods. */
class PipelineOfMethodsTest {
  private static final int LENGTH = 300_007;
  private static final StreamOptions SMALL = StreamOptions.defaults().withChunkBytes(64 << 10);

  @TempDir Path folder;
  private final UnifiedMemoryManager memory = UnifiedMemoryManager.create();

  @AfterEach
  void close() {
    memory.close();
  }

  static void scaled(WorkItem item, float a, float[] x) {
    int i = (int) item.globalId(0);
    if (i < x.length) {
      x[i] = a * x[i];
    }
  }

  static void guarded(WorkItem item, float[] x, float[] y) {
    if (item.globalId(0) < x.length) {
      int i = (int) item.globalId(0);
      y[i] = 2 * x[i];
    }
  }

  static void positive(int i, float[] x, float[] y) {
    if (x[i] > 0) {
      y[i] = x[i];
    }
  }

  static void neighbours(int i, float[] x, float[] y) {
    y[i] = x[Math.max(i - 1, 0)] + x[i];
  }

  static void numbered(int i, float[] x, float[] y) {
    y[i] = x[i] + i;
  }

  static void lengths(int i, float[] x, float[] y) {
    y[i] = x[i] / x.length;
  }

  static void counted(WorkItem item, float[] x, int[] y) {
    item.atomicAdd(y, (int) x[(int) item.globalId(0)] & 7, 1);
  }

  /** A kernel as it was. */
  static final class Before {
    static final class Kernels {
      static final MethodHandles.Lookup LOOKUP = MethodHandles.lookup();

      static void step(int i, float[] x, float[] y) {
        y[i] = helped(x[i]);
      }

      private static float helped(float x) {
        return x * 0.5f;
      }
    }
  }

  /** The same kernel, whose helper has been changed. */
  static final class After {
    static final class Kernels {
      static final MethodHandles.Lookup LOOKUP = MethodHandles.lookup();

      static void step(int i, float[] x, float[] y) {
        y[i] = helped(x[i]);
      }

      private static float helped(float x) {
        return x * 0.25f;
      }
    }
  }

  private Path input() {
    Path file = folder.resolve("x.npy");
    NpyFiles.write(file, List.of((long) LENGTH), NpyFiles.counting(LENGTH));
    return file;
  }

  private float[] result() {
    return NpyFiles.floats(folder.resolve("y.npy"));
  }

  private Pipeline pipeline(Path input, KernelSource kernel) {
    return Pipeline.from("x", input).through(kernel).to("y", folder.resolve("y.npy")).on(memory);
  }

  private static KernelSource.Method method(String name) {
    return KernelSource.method(MethodHandles.lookup(), name);
  }

  @Test
  void aMethodThatUsesItsOwnElementsComputesTheWholeArray() {
    Pipeline.from("x", input())
        .through(method("scaled"))
        .with("a", 3f)
        .to("x", folder.resolve("y.npy"))
        .on(memory)
        .run(SMALL);

    float[] y = result();
    for (int i = 0; i < LENGTH; i++) {
      assertThat(y[i]).isEqualTo(3f * (i % 1000));
    }
  }

  @Test
  void aMethodThatTestsItsIndexMakesTheWholeResult() {
    pipeline(input(), method("guarded")).run(SMALL);

    float[] y = result();
    for (int i = 0; i < LENGTH; i++) {
      assertThat(y[i]).isEqualTo(2f * (i % 1000));
    }
  }

  @Test
  void aMethodThatMayLeaveElementsOfAResultIsRefused() throws IOException {
    Pipeline pipeline = pipeline(input(), method("positive"));

    assertThatThrownBy(() -> pipeline.run(SMALL))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage(
            "kernel 'positive' reads 'y', or does not store to it at its index on every way; store"
                + " to it at the end of every way, or add a source for it");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "neighbours | elements of 'x' at another index than its item's"
            + " (PipelineOfMethodsTest.java:",
        "numbered | the number of its item as a value",
        "lengths | the length of 'x'",
        "counted | elements of 'y' at another index than its item's (PipelineOfMethodsTest.java:",
      })
  void aMethodThatWouldSeeTheChunksIsRefused(String name, String what) throws IOException {
    Pipeline pipeline = pipeline(input(), method(name));

    assertThatThrownBy(() -> pipeline.run(SMALL))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageStartingWith("kernel '" + name + "' uses " + what)
        .hasMessageEndingWith("copy them to buffers, and launch it over those");
    NpyFiles.assertFolderHolds(folder, "x.npy");
  }

  @Test
  void aMethodWhoseHelperHasChangedStartsAgain() {
    Path input = input();
    Pipeline cancelled =
        pipeline(input, KernelSource.method(Before.Kernels.LOOKUP, "step")).resumable();
    cancelled.cancel();
    assertThatThrownBy(() -> cancelled.run(SMALL)).isInstanceOf(CancellationException.class);

    Pipeline.Outcome outcome =
        pipeline(input, KernelSource.method(After.Kernels.LOOKUP, "step")).resumable().run(SMALL);

    assertThat(outcome.resumption()).isEqualTo("starts again: kernel 1 has changed");
    assertThat(result()[999]).isEqualTo(999 * 0.25f);
  }

  @Test
  void aMethodThatIsTheSameGoesOn() {
    Path input = input();
    KernelSource kernel = KernelSource.method(Before.Kernels.LOOKUP, "step");
    Pipeline cancelled = pipeline(input, kernel).resumable();
    cancelled.cancel();
    assertThatThrownBy(() -> cancelled.run(SMALL)).isInstanceOf(CancellationException.class);

    assertThat(pipeline(input, kernel).resumable().run(SMALL).resumption()).startsWith("goes on");
  }
}

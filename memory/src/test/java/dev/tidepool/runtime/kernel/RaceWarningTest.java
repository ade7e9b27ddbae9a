package dev.tidepool.runtime.kernel;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.KernelSource;
import dev.tidepool.LogLines;
import dev.tidepool.UnifiedMemoryManager;
import java.lang.invoke.MethodHandles;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** The log warns of kernels whose items read what others write, when they are compiled. */
class RaceWarningTest {
  @RegisterExtension private final LogLines log = new LogLines();

  static void smoothed(int i, float[] x, float[] weights) {
    if (i > 0) {
      x[i] += weights[0] * x[i - 1];
    }
  }

  static void smoothedInto(int i, float[] x, float[] y) {
    y[i] += i > 0 ? x[i - 1] : x[i];
  }

  private List<String> warnings(String method) {
    try (UnifiedMemoryManager memory = UnifiedMemoryManager.create("cpu:0")) {
      memory.compile(KernelSource.method(MethodHandles.lookup(), method)).close();
    }
    return log.withValues().stream().filter(line -> line.contains("a race")).toList();
  }

  @Test
  void aKernelWhoseItemsReadElementsOfOthersIsNamedWithTheArray() {
    assertThat(warnings("smoothed"))
        .singleElement()
        .asString()
        .startsWith(
            "kernel RaceWarningTest.smoothed reads elements of x that other items may write at the"
                + " same time")
        .endsWith("use atomic operations, barriers, or a second array");
  }

  @Test
  void aKernelWhoseItemsWriteElementsOfTheirOwnIsNot() {
    assertThat(warnings("smoothedInto")).isEmpty();
  }
}

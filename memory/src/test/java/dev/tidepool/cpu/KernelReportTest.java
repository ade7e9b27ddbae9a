package dev.tidepool.cpu;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.KernelSource;
import dev.tidepool.LogLines;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.WorkItem;
import java.lang.invoke.MethodHandles;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** The log says in which way the processor runs a kernel. */
class KernelReportTest {
  private final Logger logger = Logger.getLogger("dev.tidepool.kernels");

  @RegisterExtension private final LogLines log = new LogLines();

  @BeforeEach
  void tellMore() {
    logger.setLevel(Level.FINE);
  }

  @AfterEach
  void tellLess() {
    logger.setLevel(null);
  }

  static void sum(WorkItem item, int n, int[] x, int[] sums) {
    int row = (int) item.globalId(0);
    int sum = 0;
    for (int i = 0; i < n; i++) {
      sum += x[row * n + i];
    }
    sums[row] = sum;
  }

  static void reversed(WorkItem item, int[] x) {
    int[] shared = item.localInts(8);
    int local = (int) item.localId(0);
    shared[7 - local] = x[(int) item.globalId(0)];
    item.barrier();
    x[(int) item.globalId(0)] = shared[local];
  }

  @Test
  void itNamesTheMethodTheLoopsAndTheParts() {
    try (UnifiedMemoryManager memory = UnifiedMemoryManager.create("cpu:0")) {
      memory.compile(KernelSource.method(MethodHandles.lookup(), "sum")).close();
      memory.compile(KernelSource.method(MethodHandles.lookup(), "reversed")).close();
    }
    String name = KernelReportTest.class.getName();
    String arrays = " by address, over memory of others as segments";
    assertThat(log.all())
        .filteredOn(line -> line.contains("cpu:0 runs"))
        .containsExactly(
            "cpu:0 runs generated code of "
                + name
                + ".sum"
                + arrays
                + ", 1 loop with one index test",
            "cpu:0 runs generated code of "
                + name
                + ".reversed"
                + arrays
                + ", 2 parts between barriers");
  }
}

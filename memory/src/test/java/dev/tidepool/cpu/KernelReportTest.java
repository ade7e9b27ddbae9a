package dev.tidepool.cpu;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.Arguments;
import dev.tidepool.KernelSource;
import dev.tidepool.LaunchRange;
import dev.tidepool.LogLines;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.WorkItem;
import java.lang.invoke.MethodHandles;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.logging.SimpleFormatter;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
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
            "cpu:0 runs generated code of " + name + ".sum" + arrays,
            "cpu:0 runs generated code of "
                + name
                + ".reversed"
                + arrays
                + ", 2 parts between barriers");
  }

  @Test
  @Timeout(120)
  void itSaysSoWhereTheProcessMayNotUseNativeMemoryByAddress() throws Exception {
    Process process =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--illegal-native-access=deny",
                "-cp",
                System.getProperty("java.class.path"),
                Denied.class.getName())
            .redirectErrorStream(true)
            .start();
    try {
      assertThat(new String(process.getInputStream().readAllBytes()))
          .contains(
              "cpu:0 runs generated code of "
                  + KernelReportTest.class.getName()
                  + ".sum over all memory as segments, as this process may not use native memory"
                  + " by address (--enable-native-access), 1 loop with one index test")
          .contains("6, 15");
    } finally {
      process.destroyForcibly().waitFor();
    }
  }

  /** Runs a kernel and prints what the log says of it. */
  static final class Denied {
    private Denied() {}

    public static void main(String[] arguments) {
      Logger kernels = Logger.getLogger("dev.tidepool.kernels");
      kernels.setLevel(Level.FINE);
      kernels.addHandler(
          new Handler() {
            @Override
            public void publish(LogRecord line) {
              System.out.println(new SimpleFormatter().formatMessage(line));
            }

            @Override
            public void flush() {}

            @Override
            public void close() {}
          });
      int[] sums = new int[2];
      try (UnifiedMemoryManager memory = UnifiedMemoryManager.create("cpu:0")) {
        memory
            .compile(KernelSource.method(MethodHandles.lookup().in(KernelReportTest.class), "sum"))
            .execute(
                Arguments.of("n", 3, "x", new int[] {1, 2, 3, 4, 5, 6}, "sums", sums),
                LaunchRange.of(2));
      }
      System.out.println(Arrays.toString(sums));
    }
  }
}

package dev.tidepool.opencl;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.Arguments;
import dev.tidepool.ElementType;
import dev.tidepool.KernelParameter;
import dev.tidepool.KernelSource;
import dev.tidepool.LaunchRange;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.spi.Device;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Drivers compile on the thread that asks them, which may have less stack than they need. */
class CompilerStackTest {
  private static final int DEPTH = 200;

  @Test
  void aSourceThatNestsDeeplyDoesNotEndTheProcess() throws Exception {
    Pocl.devices().forEach(Device::close);
    OwnJvm.Result result = OwnJvm.run(DeepSource.class, List.of());
    assertThat(result.status()).as(result.output()).isZero();
    assertThat(result.output()).contains("x is " + DEPTH);
  }

  /** Adds up ones, each in parentheses of its own. */
  static final class DeepSource {
    private static final long STACK_BYTES = 512 << 10;

    public static void main(String[] arguments) throws Exception {
      Thread thread = new Thread(null, DeepSource::compile, "with little stack", STACK_BYTES);
      thread.start();
      thread.join();
    }

    private static void compile() {
      // A source that PoCL has not compiled before, and kept.
      String entry = "sum" + System.nanoTime();
      String source =
          "kernel void %s(global int* x) { x[0] = %sx[0]%s; }"
              .formatted(entry, "(".repeat(DEPTH), " + 1)".repeat(DEPTH));
      int[] x = new int[1];
      try (UnifiedMemoryManager memory = UnifiedMemoryManager.create("opencl:0")) {
        memory
            .compile(
                KernelSource.opencl(source, entry, KernelParameter.inout("x", ElementType.INT)))
            .execute(Arguments.of("x", x), LaunchRange.of(1));
      }
      System.out.println("x is " + x[0]);
    }
  }
}

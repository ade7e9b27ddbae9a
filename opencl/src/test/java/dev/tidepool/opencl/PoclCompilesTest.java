package dev.tidepool.opencl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.tidepool.Arguments;
import dev.tidepool.KernelSource;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.spi.Device;
import java.lang.invoke.MethodHandles;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The time that PoCL's compiler takes is told before it passes, to programs that named PoCL. */
class PoclCompilesTest {
  @TempDir private Path cache;

  @Test
  void theFirstKernelOnPoclIsLoggedAndNoOther() throws Exception {
    assumePocl();
    OwnJvm.Result result = OwnJvm.run(TwoKernels.class, List.of("-Daccelerator=opencl:0"));
    assertThat(result.status()).as(result.output()).isZero();
    assertThat(result.output())
        .containsOnlyOnce("PoCL compiles each kernel")
        .contains("2.0 and 6.0 on opencl:0");
  }

  @Test
  void aProgramThatNamesNoAcceleratorNeitherLoadsPoclNorWaitsForIt() throws Exception {
    assumePocl();
    OwnJvm.Result result = OwnJvm.run(TwoKernels.class, List.of("-Daccelerator=auto"));
    assertThat(result.status()).as(result.output()).isZero();
    assertThat(result.output()).doesNotContain("PoCL", "on opencl");
  }

  @Test
  void theCompilerWarnsOfNoGeneratedText() throws Exception {
    assumePocl();
    OwnJvm.Result result =
        OwnJvm.run(Weights.class, List.of(), Map.of("POCL_CACHE_DIR", cache.toString()));
    assertThat(result.status()).as(result.output()).isZero();
    assertThat(result.output()).contains("1.0 on opencl:0").doesNotContain("warning");
  }

  private static void assumePocl() {
    List<Device> devices = Pocl.devices();
    devices.forEach(Device::close);
    assumeTrue(
        devices.stream().allMatch(device -> ((OpenClDevice) device).properties().pocl()),
        "all OpenCL devices are PoCL's");
  }

  /** Runs two kernels on the accelerator that a property names. */
  static final class TwoKernels {
    public static void main(String[] arguments) {
      try (UnifiedMemoryManager memory =
          UnifiedMemoryManager.create(System.getProperty("accelerator"))) {
        float[] y = {1};
        float[] z = new float[1];
        memory.compile(KernelSource.elementwise("y = 2 * y")).execute(Arguments.of("y", y));
        memory.compile(KernelSource.elementwise("z = 3 * y")).execute(Arguments.of("y", y, "z", z));
        System.out.println(y[0] + " and " + z[0] + " on " + memory.accelerator().id());
      }
    }
  }

  /** Runs a method whose text is a comparison in two pairs of parentheses. */
  static final class Weights {
    public static void main(String[] arguments) {
      try (UnifiedMemoryManager memory = UnifiedMemoryManager.create("opencl:0")) {
        float[] y = {0};
        memory
            .compile(KernelSource.method(MethodHandles.lookup(), "weights"))
            .execute(Arguments.of("y", y));
        System.out.println(y[0] + " on " + memory.accelerator().id());
      }
    }

    static void weights(int i, float[] y) {
      float sum = 0;
      for (int distance = -2; distance <= 2; distance++) {
        sum += weight(distance);
      }
      y[i] = sum;
    }

    private static float weight(int distance) {
      return switch (distance) {
        case 0 -> 0.375f;
        case 1, -1 -> 0.25f;
        default -> 0.0625f;
      };
    }
  }
}

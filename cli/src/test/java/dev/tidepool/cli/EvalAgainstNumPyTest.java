package dev.tidepool.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.io.TempDir;

@DisplayName("eval writes the file that NumPy writes")
class EvalAgainstNumPyTest {
  private static final long SEED = Long.getLong("tidepool.test.seed", 20_261_120);

  // PoCL takes a second to compile a kernel: every type is met, not every type by every operator.
  // -Dtidepool.test.all=true runs all.
  private static final int OPENCL_STRIDE = 7;

  @TempDir static Path folder;
  private static List<NumPy.Case> cases;

  @BeforeAll
  static void reference() {
    cases = NumPy.cases(folder, SEED);
    assertThat(cases).as("cases of seed " + SEED).hasSizeGreaterThan(400);
  }

  @TestFactory
  @DisplayName("on the CPU")
  Stream<DynamicTest> onTheCpu() {
    return on("cpu:0", 1);
  }

  @TestFactory
  @DisplayName("on OpenCL")
  Stream<DynamicTest> onOpenCl() {
    OpenClDevices.assumePresent();
    return on("opencl:0", Boolean.getBoolean("tidepool.test.all") ? 1 : OPENCL_STRIDE);
  }

  /** Every case, or every {@code stride}-th, from one on that the seed chooses. */
  private static Stream<DynamicTest> on(String device, int stride) {
    int first = Math.floorMod(SEED, stride);
    return IntStream.range(0, cases.size())
        .filter(index -> index % stride == first)
        .mapToObj(cases::get)
        .map(
            example ->
                DynamicTest.dynamicTest(
                    example.title() + " (seed " + SEED + ")", () -> check(example, device)));
  }

  private static void check(NumPy.Case example, String device) throws IOException {
    Path out = Files.createTempDirectory(folder, "out");
    List<String> arguments = new ArrayList<>(List.of("eval", "--device", device));
    example.arguments().forEach(text -> arguments.add(text.replace("{out}", out.toString())));
    Command.Result result = Command.run(arguments.toArray(String[]::new));
    assertThat(result.err()).isEmpty();
    assertThat(result.status()).isZero();
    for (String output : example.expected()) {
      int equals = output.indexOf('=');
      NpyImage actual = NpyImage.read(out.resolve(output.substring(0, equals) + ".npy"));
      NpyImage expected = NpyImage.read(Path.of(output.substring(equals + 1)));
      actual.assertEquals(expected, example.distance());
    }
  }
}

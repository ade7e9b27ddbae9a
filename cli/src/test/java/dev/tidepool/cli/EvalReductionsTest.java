package dev.tidepool.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.io.TempDir;

@DisplayName("eval prints what NumPy's reductions give")
class EvalReductionsTest {
  private static final long SEED = Long.getLong("tidepool.test.seed", 20_261_121);

  // PoCL takes a second to compile a kernel. -Dtidepool.test.all=true runs all.
  private static final int OPENCL_STRIDE = 40;

  @TempDir static Path folder;
  private static List<String> cases;

  @BeforeAll
  static void reference() throws IOException {
    String output = NumPy.run(folder, "reductions.py", folder.toString(), Long.toString(SEED));
    assertThat(output).isEmpty();
    cases = Files.readAllLines(folder.resolve("reductions.tsv"));
    assertThat(cases).as("cases of seed " + SEED).hasSizeGreaterThan(200);
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

  private static Stream<DynamicTest> on(String device, int stride) {
    return IntStream.range(0, cases.size())
        .filter(index -> index % stride == 0)
        .mapToObj(cases::get)
        .map(line -> Arrays.asList(line.split("\t")))
        .map(
            parts ->
                DynamicTest.dynamicTest(
                    parts.get(0) + " (seed " + SEED + ")", () -> check(parts, device)));
  }

  private static void check(List<String> parts, String device) {
    List<String> arguments = new ArrayList<>(List.of("eval", "--device", device));
    arguments.addAll(parts.subList(3, parts.size()));
    Command.Result result = Command.run(arguments.toArray(String[]::new));
    assertThat(result.status()).as(result.err()).isZero();
    assertThat(result.err().lines()).hasSize(1);
    String expected = parts.get(1);
    String actual = result.out().strip();
    double allowed = Double.parseDouble(parts.get(2));
    if (allowed == 0 && !isReal(expected)) {
      assertThat(actual).isEqualTo(expected);
    } else {
      assertThat(Double.parseDouble(actual))
          .isCloseTo(Double.parseDouble(expected), within(allowed));
    }
  }

  private static boolean isReal(String text) {
    return text.matches("-?[0-9]+\\.[0-9]+(e[-+]?[0-9]+)?|-?[0-9]+e[-+]?[0-9]+");
  }

  @Test
  void several_values_stand_behind_their_names_beside_files_that_are_written() throws IOException {
    Path x = NpyFiles.floats(folder.resolve("few.npy"), 1, 2, 3, 4);
    Path z = folder.resolve("z.npy");
    Command.Result result =
        Command.run(
            "eval",
            "z = 2*x; s = sum(z); low = min(x); h = histogram(x, 2, 1, 4)",
            "x=" + x,
            "z=" + z,
            "--device",
            "cpu:0");
    assertThat(result.out()).isEqualTo("s=20.0\nlow=1.0\nh=2 2\n");
    assertThat(result.err()).contains("4 elements");
    assertThat(NpyImage.read(z).toString()).isNotEmpty();
    assertThat(Files.size(z)).isEqualTo(128 + 16);
  }

  @Test
  void what_is_no_reduction_is_refused_with_what_to_do() {
    Path x = NpyFiles.floats(folder.resolve("three.npy"), 1, 2, 3);
    Path empty = NpyFiles.floats(folder.resolve("none.npy"));
    refuses("s = 1 + sum(x)", x).contains("'sum' makes one value", "column 9");
    refuses("s = max(x) - min(x)", x).contains("'max' takes 2 arguments", "with one");
    refuses("s = sum(x); y = x - s", x).contains("known only when all were read");
    refuses("s = sum(x, x)", x).contains("'sum' takes 1 argument, not 2");
    refuses("s = histogram(x, 2)", x).contains("4 arguments");
    refuses("s = histogram(x, 0, 0, 1)", x).contains("0 bins");
    refuses("s = histogram(x, 2, 1, 0)", x).contains("from 1.0 to 0.0");
    refuses("s = histogram(x, 2, y, 1)", x).contains("add y=NUMBER");
    refuses("s = sum(x)", x, "s=out.npy").contains("goes to no file");
    refuses("s = sum(x)", x, "--dtype", "float32")
        .contains("the type float32 is for results in files, but no result goes to one");
    refuses("s = sum(q)", x).contains("q (column 9 of the expression) has no value");
    refuses("s = min(x)", empty).contains("no elements");
  }

  private static org.assertj.core.api.AbstractStringAssert<?> refuses(
      String expression, Path x, String... more) {
    List<String> arguments = new ArrayList<>(List.of("eval", expression, "x=" + x));
    arguments.addAll(List.of(more));
    Command.Result result = Command.run(arguments.toArray(String[]::new));
    assertThat(result.out()).isEmpty();
    assertThat(result.status()).isEqualTo(ExitStatus.WRONG_ARGUMENTS);
    return assertThat(result.err());
  }
}

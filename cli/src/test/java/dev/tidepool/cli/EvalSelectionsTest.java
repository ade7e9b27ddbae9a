package dev.tidepool.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
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

@DisplayName("eval reduces along axes and selects as NumPy does")
class EvalSelectionsTest {
  private static final long SEED = Long.getLong("tidepool.test.seed", 20_261_124);

  // PoCL takes a second to compile a kernel. -Dtidepool.test.all=true runs all.
  private static final int OPENCL_STRIDE = 60;

  @TempDir static Path folder;
  private static List<String> cases;

  @BeforeAll
  static void reference() throws IOException {
    NumPy.run(folder, "selections.py", folder.toString(), Long.toString(SEED));
    cases = Files.readAllLines(folder.resolve("selections.tsv"));
    assertThat(cases).as("cases of seed " + SEED).hasSizeGreaterThan(500);
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

  private static void check(List<String> parts, String device) throws IOException {
    Path out = Files.createTempDirectory(folder, "out");
    List<String> arguments = new ArrayList<>(List.of("eval", "--device", device));
    parts.stream().skip(3).forEach(text -> arguments.add(text.replace("{out}", out.toString())));
    Command.Result result = Command.run(arguments.toArray(String[]::new));
    assertThat(result.status()).as(result.err()).isZero();
    if (!parts.get(1).isEmpty()) {
      NpyImage expected = NpyImage.read(Path.of(parts.get(1)));
      NpyImage.read(out.resolve("r.npy")).assertEquals(expected, "2");
      return;
    }
    String actual = result.out().strip();
    String expected = parts.get(2);
    if (expected.contains(".") || expected.contains("e") && !expected.endsWith("e")) {
      double value = Double.parseDouble(expected);
      assertThat(Double.parseDouble(actual))
          .isCloseTo(value, within(1e-9 + 1e-6 * Math.abs(value)));
    } else {
      assertThat(actual).isEqualTo(expected);
    }
  }

  @Test
  void what_cannot_be_reduced_or_selected_is_refused_in_one_line() {
    Path x = NpyFiles.floats(folder.resolve("three.npy"), 1, 2, 3);
    Path out = folder.resolve("refused.npy");
    refuses(x, "r = sum(x)", "r=" + out, "--axis", "1")
        .contains("axis 1 is out of bounds: the arrays have 1 dimension");
    refuses(x, "r = sum(x)", "r=" + out, "--axis=-2").contains("axis -2 is out of bounds");
    refuses(x, "r = sum(x)", "r=" + out, "--axis", "first").contains("'first' is no axis");
    refuses(x, "r = sum(x)", "--axis", "0").contains("give it a .npy file");
    refuses(x, "r = 2*x", "r=" + out, "--axis", "0").contains("nothing is reduced");
    refuses(x, "r = histogram(x, 2, 0, 1)", "r=" + out, "--axis", "0")
        .contains("no histogram along an axis");
    refuses(x, "r = max(x)", "r=" + out, "--axis", "0", "--dtype", "int32")
        .contains("float32 result can't be stored into 'r' of int32 without losing its kind");
    refuses(x, "r = sum(x)", "--where", "x").contains("the mask is float32", "compare");
    refuses(x, "r = sum(x)", "--where", "x >").contains("--where: a value was expected");
    refuses(x, "r = sum(x)", "--where", "x[0]")
        .endsWith(
            "--where: unexpected character '[' at column 2; an expression has no indices;"
                + " --where 'x > 0' selects elements\n");
    for (String blank : new String[] {"", " "}) {
      refuses(x, "r = sum(x)", "--where", blank)
          .endsWith("--where: the condition is empty; give one, such as 'x > 0'\n");
    }
    refuses(x, "r = sum(x)", "--where", "x > 3 # c")
        .contains("--where: unexpected character '#' at column 7");
    refuses(x, "r = sum(x)", "--where", "x & 3")
        .endsWith("--where: '&' is not defined for float32 at column 3; it takes integers\n");
    refuses(x, "r = sum(x)", "--where", "x > 1; q = 2").contains("give one condition");
    refuses(x, "r = sum(x)", "--where", "max(x)").contains("one value of all elements");
    refuses(x, "r = sum(x)", "--where", "q > 1").contains("q has no value");
    refuses(x, "r = max(x)", "--where", "x > 9").contains("no element is selected");
    refuses(x, "r = max(x)", "r=" + out, "--axis", "0", "--where", "x > 9")
        .contains("the result has no selected element");
    for (boolean fortran : new boolean[] {false, true}) {
      Path cube = cube(fortran);
      refuses(cube, "r = max(x)", "r=" + out, "--axis", "0", "--where", "x != 5 && x != 17")
          .contains("result [1, 1] has no selected element");
      refuses(cube, "r = max(x)", "r=" + out, "--axis", "2", "--where", "x < 20")
          .contains("result [1, 2] has no selected element");
    }
    refuses(x, "r = 2*x", "r=" + out, "--where", "x > 1", "--resume").contains("cannot be resumed");
    assertThat(out).doesNotExist();
  }

  @Test
  void the_mask_takes_a_name_that_is_free() {
    Path x = NpyFiles.floats(folder.resolve("names.npy"), 1, 2, 3);
    Command.Result result =
        Command.run(
            "eval",
            "selected = 2*selected_; r = sum(selected)",
            "selected_=" + x,
            "--where",
            "selected > 2",
            "--device",
            "cpu:0");
    assertThat(result.err()).contains("3 elements");
    assertThat(result.out()).isEqualTo("10.0\n");
  }

  /** The numbers from 0 on, in C order, as an array of 2 x 3 x 4. */
  private static Path cube(boolean fortran) {
    ByteBuffer data = ByteBuffer.allocate(24 * Float.BYTES).order(ByteOrder.LITTLE_ENDIAN);
    for (int i = 0; i < 24; i++) {
      data.putFloat(fortran ? i % 2 * 12 + i / 2 % 3 * 4 + i / 6 : i);
    }
    return NpyFiles.write(
        folder.resolve("cube-" + fortran + ".npy"), "<f4", "(2, 3, 4)", fortran, data.array());
  }

  private static org.assertj.core.api.AbstractStringAssert<?> refuses(Path x, String... more) {
    List<String> arguments = new ArrayList<>(List.of("eval", "x=" + x, "--device", "cpu:0"));
    arguments.addAll(1, List.of(more));
    Command.Result result = Command.run(arguments.toArray(String[]::new));
    assertThat(result.out()).isEmpty();
    assertThat(result.status()).isEqualTo(ExitStatus.WRONG_ARGUMENTS);
    return assertThat(result.err());
  }
}

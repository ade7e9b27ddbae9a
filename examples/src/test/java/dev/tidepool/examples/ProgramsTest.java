package dev.tidepool.examples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.spi.AcceleratorProvider;
import dev.tidepool.spi.Discovery;
import dev.tidepool.testkit.simulated.SimulatedHardware;
import dev.tidepool.testkit.simulated.SimulatedProvider;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Every program of this module, found by its {@code main}, with a small size. */
@DisplayName("The example programs")
class ProgramsTest {
  private static final Path MODULE =
      Files.isDirectory(Path.of("examples")) ? Path.of("examples") : Path.of("");
  private static final String[] SIZE = {"60"};

  /** It needs an OpenCL device, and has a test of its own. */
  private static final String OF_OPENCL = "MatrixProduct";

  /** Their names below the package, such as {@code kernels.Blur}. */
  static List<String> programs() throws IOException {
    Path sources = MODULE.resolve("src/main/java/dev/tidepool/examples");
    try (Stream<Path> files = Files.walk(sources)) {
      return files
          .filter(Files::isRegularFile)
          .filter(ProgramsTest::isProgram)
          .map(file -> sources.relativize(file).toString().replace(".java", "").replace('/', '.'))
          .filter(program -> !program.equals(OF_OPENCL))
          .sorted()
          .toList();
    }
  }

  private static boolean isProgram(Path file) {
    try {
      return Files.readString(file).contains("public static void main(String[] ");
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  @ParameterizedTest
  @MethodSource("programs")
  void hold_what_they_claim_where_host_and_device_share_memory(String program) {
    assertThat(output(program, List.of())).contains("verified: ");
  }

  @ParameterizedTest
  @MethodSource("programs")
  void hold_what_they_claim_on_a_device_with_memory_of_its_own(String program) {
    SimulatedProvider simulated = new SimulatedProvider(SimulatedHardware.discrete());
    assertThat(output(program, List.of(simulated))).contains("verified: ");
    assertThat(simulated.devices()).isNotEmpty();
    assertThat(simulated.violations()).isEmpty();
  }

  @ParameterizedTest
  @MethodSource("programs")
  void stand_in_the_list_of_them(String program) throws IOException {
    assertThat(Files.readString(MODULE.resolve("README.md")))
        .contains("`" + program.substring(program.lastIndexOf('.') + 1) + "`");
  }

  @Test
  void end_with_an_error_where_a_claim_does_not_hold() {
    assertThatThrownBy(() -> Check.that(false, "pigs fly"))
        .isInstanceOf(AssertionError.class)
        .hasMessage("this does not hold: pigs fly");
  }

  /** What a program prints when only these providers' accelerators and the CPU are there. */
  private static String output(String program, List<AcceleratorProvider> providers) {
    Assumptions.assumeTrue(
        !program.equals("NumPyExchange") || Python.get().isPresent(),
        "needs libpython3.11 and python3-numpy");
    PrintStream out = System.out;
    ByteArrayOutputStream printed = new ByteArrayOutputStream();
    System.setOut(new PrintStream(printed, true, StandardCharsets.UTF_8));
    try {
      return Discovery.using(
          providers,
          () -> {
            try {
              Class.forName("dev.tidepool.examples." + program)
                  .getMethod("main", String[].class)
                  .invoke(null, (Object) SIZE);
              return printed.toString(StandardCharsets.UTF_8);
            } catch (ReflectiveOperationException e) {
              throw new AssertionError(program + " failed", e);
            }
          });
    } finally {
      System.setOut(out);
    }
  }
}

package dev.tidepool.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.testkit.cuda.SimulatedCuda;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@DisplayName("eval on several devices")
class EvalDevicesTest {
  @TempDir Path folder;

  private Command.Result eval(String expression, String device, String... more) {
    String[] arguments = new String[4 + more.length];
    arguments[0] = "eval";
    arguments[1] = expression;
    arguments[2] = "--device";
    arguments[3] = device;
    System.arraycopy(more, 0, arguments, 4, more.length);
    return Command.run(arguments);
  }

  @Test
  void they_share_the_work_and_the_result_is_that_of_one() throws IOException {
    OpenClDevices.assumePresent();
    Path x = NpyFiles.large(folder.resolve("x.npy"), 3_000_001);
    Path one = folder.resolve("one.npy");
    Path two = folder.resolve("two.npy");
    Command.Result alone = eval("z = x/3 + 1; s = sum(z)", "cpu:0", "x=" + x, "z=" + one);
    Command.Result both =
        eval(
            "z = x/3 + 1; s = sum(z)",
            "opencl:0,cpu:0",
            "x=" + x,
            "z=" + two,
            "--deterministic",
            "--chunk",
            "64k");

    assertThat(both.status()).as(both.err()).isZero();
    assertThat(both.err()).contains("on opencl:0 (").contains(" and cpu:0 (");
    assertThat(both.out()).isEqualTo(alone.out()).isNotBlank();
    assertThat(Files.mismatch(one, two)).isEqualTo(-1);
  }

  /** PoCL's own functions are undefined for such constants, and all results were zero. */
  @Test
  void infinite_constants_are_rounded_as_on_the_cpu() throws IOException {
    OpenClDevices.assumePresent();
    Path x = NpyFiles.floats(folder.resolve("x.npy"), -2.5f, -0.3f, -0.0f, 0.5f, 1.5f, 1e30f);
    String expression =
        "y = 1e400; a = floor(y) + x; b = ceil(-y) + x; c = rint(y*10) + x; d = y//2 != y//2;"
            + " e = floor(x); f = ceil(x); g = rint(x); h = x//0.7";
    for (String device : new String[] {"cpu:0", "opencl:0"}) {
      Path results = Files.createDirectory(folder.resolve(device.replace(':', '-')));
      List<String> files = new ArrayList<>(List.of("x=" + x));
      for (String name : "yabcdefgh".split("")) {
        files.add(name + "=" + results.resolve(name + ".npy"));
      }
      Command.Result result = eval(expression, device, files.toArray(String[]::new));
      assertThat(result.status()).as(result.err()).isZero();
    }
    for (String name : "yabcdefgh".split("")) {
      assertThat(folder.resolve("opencl-0").resolve(name + ".npy"))
          .hasSameBinaryContentAs(folder.resolve("cpu-0").resolve(name + ".npy"));
    }
  }

  @Test
  void the_same_bits_are_refused_where_functions_may_differ() {
    OpenClDevices.assumePresent();
    Path x = NpyFiles.floats(folder.resolve("x.npy"), 1, 2, 3);
    Command.Result result = eval("s = sum(sin(x))", "opencl:0,cpu:0", "x=" + x, "--deterministic");

    assertThat(result.status()).isEqualTo(ExitStatus.WRONG_ARGUMENTS);
    assertThat(result.err()).contains("between opencl:0 and cpu:0");
    assertThat(result.out()).isEmpty();
  }

  /** Runs the command on a simulated card, without NVRTC. */
  private String withoutCompiler(int status, String... arguments)
      throws IOException, InterruptedException {
    Path log = folder.resolve("log");
    Map<String, String> variables =
        Map.of(
            "TIDEPOOL_CUDA_LIBRARY", SimulatedCuda.orSkip().driver().toString(),
            "TIDEPOOL_NVRTC", Files.createDirectories(folder.resolve("empty")).toString(),
            "TIDEPOOL_CUDA_CACHE", "none",
            "TIDEPOOL_OPENCL_LIBRARY", folder.resolve("none").toString());
    Process process = CommandProcess.start(log, variables, Main.class, arguments);
    int ended = process.waitFor();
    String text = Files.readString(log);
    assertThat(ended).as(text).isEqualTo(status);
    return text;
  }

  @Test
  @Timeout(300)
  void a_card_without_a_compiler_leaves_the_work_to_the_others()
      throws IOException, InterruptedException {
    Path x = NpyFiles.floats(folder.resolve("x.npy"), 1, 2, 3);

    assertThat(withoutCompiler(0, "eval", "s = sum(x)", "x=" + x))
        .contains("cuda:0 has no compiler, cpu:0 computed: 's = (x)'", "no NVRTC", "6.0\n")
        .contains(" on cpu:0 (");
    assertThat(withoutCompiler(1, "eval", "s = sum(x)", "x=" + x, "--device", "cuda:0"))
        .startsWith("tidepool: 's = (x)' cannot be compiled: no NVRTC")
        .hasLineCount(1);
    // Enough for both to take a part.
    Path many = NpyFiles.floats(folder.resolve("many.npy"), new float[1 << 24]);
    assertThat(withoutCompiler(0, "eval", "s = sum(x)", "x=" + many, "--device", "cuda:0,cpu:0"))
        .contains("cuda:0 failed, others did its part", " on cpu:0 (")
        .doesNotContain(" and cpu:0");
    assertThat(withoutCompiler(0, "demo"))
        .containsSubsequence("cuda:0  ", "WITHOUT KERNELS: ", "cpu:0  ", "verified: all");
  }

  @Test
  void one_that_is_named_twice_or_is_not_there_is_refused() {
    Path x = NpyFiles.floats(folder.resolve("x.npy"), 1, 2, 3);

    assertThat(eval("s = sum(x)", "cpu:0,cpu:0", "x=" + x).err()).contains("twice");
    assertThat(eval("s = sum(x)", "cpu:0,", "x=" + x).err()).contains("an empty id");
    assertThat(eval("s = sum(x)", ",", "x=" + x).err()).contains("an empty id");
    assertThat(eval("s = sum(x)", "cpu:0,metal:7", "x=" + x).err())
        .contains("no accelerator 'metal:7'");
  }
}

package dev.tidepool.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
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

  @Test
  void the_same_bits_are_refused_where_functions_may_differ() {
    OpenClDevices.assumePresent();
    Path x = NpyFiles.floats(folder.resolve("x.npy"), 1, 2, 3);
    Command.Result result = eval("s = sum(sin(x))", "opencl:0,cpu:0", "x=" + x, "--deterministic");

    assertThat(result.status()).isEqualTo(ExitStatus.WRONG_ARGUMENTS);
    assertThat(result.err()).contains("between opencl:0 and cpu:0");
    assertThat(result.out()).isEmpty();
  }

  @Test
  void one_that_is_named_twice_or_is_not_there_is_refused() {
    Path x = NpyFiles.floats(folder.resolve("x.npy"), 1, 2, 3);

    assertThat(eval("s = sum(x)", "cpu:0,cpu:0", "x=" + x).err()).contains("twice");
    assertThat(eval("s = sum(x)", "cpu:0,", "x=" + x).err()).contains("no accelerator ''");
    assertThat(eval("s = sum(x)", "cpu:0,metal:7", "x=" + x).err())
        .contains("no accelerator 'metal:7'");
  }
}

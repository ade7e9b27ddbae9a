package dev.tidepool.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine;

@DisplayName("The quick reader of eval's command line")
class EvalRequestTest {
  @ParameterizedTest
  @ValueSource(
      strings = {
        "z=x x=a.npy z=b.npy",
        "z=-x x=-2.5 --device cpu:0 y=@file",
        "--device=opencl:1 z=x x=a.npy --chunk 16m --memory-limit=256m z=b.npy",
        "z=x --device cpu:0,opencl:0 --resume x=a.npy --deterministic",
        "--force z=x --dtype float32 x=a.npy --debug z=b.npy",
        "z=x --memory-limit 1.5GiB",
        "z=sum(x) --axis 1 z=b.npy --where x>0",
        "z='x' \"y\"=2",
        "only"
      })
  void reads_well_formed_lines_as_picocli_does(String line) {
    List<String> arguments = Arrays.asList(line.split(" "));
    assertThat(EvalRequest.read(arguments)).contains(byPicocli(arguments));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "--help",
        "z=x --help",
        "z=x -h",
        "z=x --unknown",
        "z=x --force=yes",
        "z=x --device",
        "z=x --device --force",
        "z=x --device=",
        "z=x --chunk 1m --chunk 2m",
        "z=x --force --force",
        "--force",
        "z=x -- x=1"
      })
  void leaves_everything_else_to_picocli(String line) {
    assertThat(EvalRequest.read(Arrays.asList(line.split(" ")))).isEmpty();
  }

  @Test
  void a_condition_may_begin_with_a_minus_and_a_name_like_an_option() {
    for (String condition : List.of("-h > 0", "-h>0", "-d==1", "-h")) {
      assertThat(EvalRequest.read(List.of("z=sum(h)", "--where=" + condition)))
          .map(EvalRequest::where)
          .contains(condition);
    }
    assertThat(EvalRequest.read(List.of("z=sum(h)", "--where", "-h > 0")))
        .map(EvalRequest::where)
        .contains("-h > 0");
    assertThat(EvalRequest.read(List.of("z=sum(h)", "--where", "-h"))).isEmpty();
  }

  @Test
  void leaves_an_empty_line_to_picocli() {
    assertThat(EvalRequest.read(List.of())).isEqualTo(Optional.empty());
  }

  private static EvalRequest byPicocli(List<String> arguments) {
    String[] line = new String[arguments.size() + 1];
    line[0] = "eval";
    System.arraycopy(arguments.toArray(), 0, line, 1, arguments.size());
    CommandLine.ParseResult parsed =
        new TidepoolCommand(System.out, System.err).commandLine().parseArgs(line);
    return ((EvalCommand) parsed.subcommand().commandSpec().userObject()).request();
  }
}

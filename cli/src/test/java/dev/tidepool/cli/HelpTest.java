package dev.tidepool.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Locale;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class HelpTest {
  @ParameterizedTest
  @ValueSource(strings = {"info", "eval", "demo", "selftest", "bench", "view"})
  void every_command_explains_itself_with_examples_in_80_columns(String command) {
    Command.Result result = Command.run(command, "--help");
    assertThat(result.status()).isZero();
    assertThat(result.err()).isEmpty();
    assertThat(result.out()).startsWith("Usage: tidepool " + command).contains("Example");
    assertThat(result.out()).contains("  tidepool " + command);
    assertThat(result.out().lines()).allSatisfy(line -> assertThat(line).hasSizeLessThan(81));
  }

  @Test
  void the_command_itself_lists_all_of_them_and_its_exit_statuses() {
    Command.Result result = Command.run("--help");
    assertThat(result.status()).isZero();
    assertThat(result.out())
        .contains("info", "eval", "demo", "selftest", "bench", "view", "Exit status", "130");
    assertThat(result.out().lines()).allSatisfy(line -> assertThat(line).hasSizeLessThan(81));
    String commands = result.out().replaceAll("(?s).*Commands:\n(.*?)\n\n.*", "$1\n");
    assertThat(commands.split("\n(?=  \\w)"))
        .hasSize(6)
        .allSatisfy(command -> assertThat(command.strip()).as("a whole sentence").endsWith("."));
  }

  @Test
  void the_help_of_eval_names_every_option_and_function() {
    String help = Command.run("eval", "-h").out();
    assertThat(help)
        .contains("--device", "--chunk", "--memory-limit", "--dtype", "--force", "--debug");
    String functions =
        "abs min max floor ceil rint sqrt cbrt exp exp2 expm1 log log2 log10 log1p sin cos tan"
            + " asin acos atan atan2 sinh cosh tanh pow hypot fma";
    assertThat(help).contains("+ - * / // % **", "< <= > >= == !=", "! && ||", "& | ^ ~ << >>");
    assertThat(help.toLowerCase(Locale.ROOT).split("\\W+")).contains(functions.split(" "));
  }

  @Test
  void the_help_of_eval_says_what_becomes_of_reductions_and_conditions() {
    assertThat(Command.run("eval", "--help").out().replaceAll("\\s+", " "))
        .contains(
            "reduces all elements of an expression a to one value, which is printed and needs no"
                + " file",
            "With --axis its result is an array, which needs a file",
            "Comparisons and ! && || give arrays of bool",
            "Output files contain the selected elements in one dimension");
  }

  @Test
  void the_version_names_the_virtual_machine_too() {
    Command.Result result = Command.run("--version");
    assertThat(result.status()).isZero();
    assertThat(result.out()).startsWith("tidepool ").contains("Java " + Runtime.version());
  }
}

package dev.tidepool.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@DisplayName("Bad input gets one clear line, and nothing is lost")
class BadInputTest {
  @TempDir Path folder;
  private Path a;
  private Path b;

  @BeforeEach
  void inputs() {
    a = NpyFiles.floats(folder.resolve("a.npy"), 1, 2, 3);
    b = NpyFiles.floats(folder.resolve("b.npy"), 4, 5, 6);
  }

  @Test
  void a_missing_file_is_named() {
    refuses("z = x", "x=missing.npy", "z=z.npy").contains("missing.npy", "does not exist");
  }

  @Test
  void a_link_that_leads_nowhere_is_told_with_its_end() throws IOException {
    Path first = Files.createSymbolicLink(folder.resolve("first.npy"), Path.of("second.npy"));
    Files.createSymbolicLink(folder.resolve("second.npy"), Path.of("gone.npy"));
    refusesAsIs("z = x", "x=" + first, "z=" + folder.resolve("z.npy"))
        .contains(
            first
                + " is a symbolic link to "
                + folder.resolve("gone.npy")
                + ", which does not exist");
  }

  @Test
  void a_name_with_control_characters_is_shown_whole_on_one_line() {
    refuses("z = x", "x=a\nb\u001b.npy", "z=z.npy").contains("/a\\nb\\u001b.npy does not exist");
  }

  @Test
  void a_truncated_file_is_told_with_its_bytes() {
    NpyFiles.write(folder.resolve("t.npy"), "<f4", "(100,)", new byte[40]);
    refuses("z = x", "x=t.npy", "z=z.npy").contains("t.npy", "truncated", "400", "40");
  }

  @Test
  void an_empty_file_and_a_text_are_no_npy() throws IOException {
    Files.createFile(folder.resolve("empty.npy"));
    refuses("z = x", "x=empty.npy", "z=z.npy").contains("empty.npy", "no .npy file");
    Files.writeString(folder.resolve("text.npy"), "1.0, 2.0, 3.0, 4.0\n");
    refuses("z = x", "x=text.npy", "z=z.npy").contains("text.npy", "no .npy file");
  }

  @Test
  void an_npz_file_is_a_zip_to_unpack() throws IOException {
    Path file = folder.resolve("several.npz");
    try (ZipOutputStream zip = new ZipOutputStream(Files.newOutputStream(file))) {
      zip.putNextEntry(new ZipEntry("x.npy"));
      zip.write(Files.readAllBytes(a));
    }
    refuses("z = x", "x=several.npz", "z=z.npy").contains("several.npz", ".npz files", "unzip it");
  }

  @Test
  void objects_and_structures_are_refused_with_what_is_supported() throws IOException {
    NpyFiles.write(folder.resolve("o.npy"), "|O", "(3,)", new byte[24]);
    refuses("z = x", "x=o.npy", "z=z.npy").contains("o.npy", "objects", "float32");
    byte[] header = NpyFiles.header("[('a', '<f4'), ('b', '<i4')]", "(3,)");
    Files.write(folder.resolve("s.npy"), Arrays.copyOf(header, header.length + 24));
    refuses("z = x", "x=s.npy", "z=z.npy").contains("s.npy", "structured", "float32");
  }

  @Test
  void shapes_that_differ_are_both_told() {
    NpyFiles.write(folder.resolve("m.npy"), "<f4", "(3, 1)", new byte[12]);
    refuses("z = x + y", "x=a.npy", "y=m.npy", "z=z.npy")
        .contains("(3,)", "(3, 1)", "a.npy", "m.npy");
  }

  @Test
  void a_syntax_error_shows_the_expression_with_a_caret_under_the_column() {
    Command.Result result = eval("z = x + * y", "x=a.npy", "y=b.npy", "z=z.npy");
    assertThat(result.status()).isEqualTo(2);
    List<String> lines = result.err().lines().toList();
    assertThat(lines).hasSize(3);
    assertThat(lines.get(0)).startsWith("tidepool: ").contains("column 9");
    assertThat(lines.get(1)).endsWith("z = x + * y");
    assertThat(lines.get(2)).endsWith("^");
    assertThat(lines.get(2).indexOf('^')).isEqualTo(lines.get(1).indexOf('*'));
  }

  @Test
  void an_unknown_name_is_told_with_what_to_add() {
    refuses("z = x + q", "x=a.npy", "z=z.npy").contains("q", "column 9", "q=FILE.npy");
  }

  @Test
  void a_name_that_no_expression_can_have_is_an_error() {
    refuses("z = x", "x =a.npy", "z=z.npy")
        .contains("'x ' is no name; names consist of letters, digits and '_'");
    refuses("z = x", "x=a.npy", "2z=z.npy").contains("'2z' is no name");
  }

  @Test
  void an_index_is_told_with_the_option_that_selects() {
    Command.Result result = eval("z = x[x > 1]", "x=a.npy", "z=z.npy");
    assertThat(result.status()).isEqualTo(2);
    assertThat(result.err())
        .isEqualTo(
            "tidepool: unexpected character '[' at column 6; an expression has no indices; --where"
                + " 'x > 0' selects elements\n  z = x[x > 1]\n       ^\n");
  }

  @Test
  void a_name_that_is_given_but_not_used_is_an_error() {
    refuses("z = x", "x=a.npy", "y=b.npy", "z=z.npy").contains("y is given", "z, x");
  }

  @Test
  void a_result_without_a_file_is_an_error() {
    refuses("z = x", "x=a.npy").contains("add z=FILE.npy");
  }

  @Test
  void a_name_given_twice_and_a_binding_without_equals_are_errors() {
    refuses("z = x", "x=a.npy", "x=b.npy", "z=z.npy").contains("x is given twice");
    refuses("z = x", "x=a.npy", "z.npy").contains("'z.npy'", "NAME=FILE.npy");
  }

  @Test
  void an_assigned_name_takes_no_number_and_a_name_read_before_no_file() {
    refuses("z = x", "x=a.npy", "z=5").contains("z is assigned", "./5");
    refuses("x = x + 1", "x=a.npy").contains("x is read before it is assigned");
  }

  @Test
  void without_an_array_there_is_no_shape() {
    refuses("z = x + 1", "x=2", "z=z.npy").contains("no shape");
  }

  @Test
  void an_output_that_exists_stays_unless_forced() throws IOException {
    byte[] before = Files.readAllBytes(b);
    refuses("z = x", "x=a.npy", "z=b.npy").contains("b.npy", "exists", "--force");
    assertThat(Files.readAllBytes(b)).isEqualTo(before);
    assertThat(eval("z = x", "x=a.npy", "z=b.npy", "--force").status()).isZero();
    assertThat(Files.readAllBytes(b)).isEqualTo(Files.readAllBytes(a));
  }

  @Test
  void an_output_that_equals_an_input_is_refused_through_links_too() throws IOException {
    refuses("z = x", "x=a.npy", "z=a.npy", "--force").contains("'z'", "'x'", "a.npy");
    refuses("z = x", "x=a.npy", "z=./a.npy", "--force").contains("is the output 'z' and also 'x'");
    Files.createSymbolicLink(folder.resolve("soft.npy"), a);
    refuses("z = x", "x=a.npy", "z=soft.npy", "--force").contains("is the output 'z' and also 'x'");
    Files.createLink(folder.resolve("hard.npy"), a);
    refuses("z = x", "x=a.npy", "z=hard.npy", "--force").contains("is the output 'z' and also 'x'");
  }

  @Test
  void two_outputs_in_one_file_are_refused() {
    refuses("y = x; z = 2*x", "x=a.npy", "y=o.npy", "z=./o.npy")
        .contains("is the output 'z' and also 'y'");
  }

  @Test
  void a_folder_that_is_missing_and_an_output_that_is_no_file_are_errors() {
    refuses("z = x", "x=a.npy", "z=nowhere/z.npy").contains("nowhere", "does not exist");
    refuses("z = x", "x=a.npy", "z=.", "--force").contains("no regular file");
    refuses("z = x", "x=a.npy", "z=/dev/full", "--force").contains("no regular file");
  }

  @Test
  void an_unknown_device_is_told_with_those_that_exist() {
    refusesAsIs("z = x", "x=" + a, "z=" + folder.resolve("z.npy"), "--device", "cuda:7")
        .contains("cuda:7", "cpu:0");
    refusesAsIs("z = x", "x=" + a, "z=" + folder.resolve("z.npy"), "--device", "opencl:77")
        .contains("opencl:77", "cpu:0");
  }

  @Test
  void a_memory_limit_too_small_is_told_with_the_least_that_works() {
    NpyFiles.large(folder.resolve("l.npy"), 100_000);
    String line = refuses("z = x", "x=l.npy", "z=z.npy", "--memory-limit", "100").text();
    assertThat(line).contains("100 bytes", "least");
    String least = line.replaceAll(".*?(\\d+) bytes$", "$1");
    assertThat(eval("z = x", "x=l.npy", "z=z.npy", "--memory-limit", least).status()).isZero();
  }

  @Test
  void sizes_and_types_that_are_none_are_told() {
    refuses("z = x", "x=a.npy", "z=z.npy", "--chunk", "much").contains("--chunk", "much", "64k");
    refuses("z = x", "x=a.npy", "z=z.npy", "--chunk", "0").contains("--chunk");
    refuses("z = x", "x=a.npy", "z=z.npy", "--memory-limit", "1x").contains("--memory-limit");
    refuses("z = x", "x=a.npy", "z=z.npy", "--dtype", "quad").contains("quad", "float32");
  }

  @Test
  void an_unknown_option_a_missing_expression_and_a_missing_command_lead_to_the_help() {
    refuses("z = x", "x=a.npy", "z=z.npy", "--colour").contains("--colour", "--help");
    assertRefusal(Command.run("eval")).contains("EXPRESSION", "--help");
    assertRefusal(Command.run("evil")).contains("evil", "eval", "--help");
    Command.Result nothing = Command.run();
    assertThat(nothing.status()).isEqualTo(2);
    assertThat(nothing.err()).contains("Usage: tidepool", "eval", "tidepool: a command is missing");
  }

  @Test
  void an_argument_too_many_and_a_number_that_is_none_are_told_in_plain_words() {
    assertRefusal(Command.run("info", "all")).contains("'all' is one argument too many", "--help");
    assertRefusal(Command.run("demo", "--serve", "web")).contains("--serve", "'web' is no whole");
    assertRefusal(Command.run("demo", "--serve", "-1")).contains("--serve -1: ports are");
    assertRefusal(Command.run("selftest", "--random", "1e3"))
        .contains("--random", "'1e3' is no whole");
  }

  @Test
  void a_setting_that_cannot_be_read_is_nobodys_internal_error() {
    System.setProperty("tidepool.diagnostics", "all");
    try {
      assertRefusal(Command.run("info")).contains("tidepool.diagnostics=all", "paranoid");
    } finally {
      System.clearProperty("tidepool.diagnostics");
    }
  }

  @Test
  void a_folder_or_file_of_a_setting_that_cannot_be_used_is_a_wrong_argument() {
    for (String option : List.of("dump-directory", "spill-directory", "trace")) {
      System.setProperty("tidepool." + option, folder.resolve("nowhere/t").toString());
      try {
        for (String command : List.of("info", "demo", "selftest", "bench")) {
          assertRefusal(Command.run(command)).contains(option, "nowhere");
        }
        assertRefusal(Command.run("demo", "--serve", "0")).contains(option, "nowhere");
        refuses("z = x", "x=a.npy", "z=z.npy").contains(option, "nowhere");
      } finally {
        System.clearProperty("tidepool." + option);
      }
    }
  }

  @Test
  void numbers_have_ascii_digits_in_every_language() {
    Locale before = Locale.getDefault();
    Locale.setDefault(Locale.of("ar", "EG"));
    try {
      assertThat("%d".formatted(3)).isEqualTo("\u0663");
      refuses("s = sum(x)", "x=a.npy", "s=s.npy", "--axis", "3").contains("axis 3", "1 dimension");
      refuses("s = histogram(x, 0, 1, 2)", "x=a.npy").contains("from 1 to 1048576");
    } finally {
      Locale.setDefault(before);
    }
  }

  @Test
  void a_stack_trace_comes_only_with_debug() {
    assertThat(eval("z = x", "x=no.npy", "z=z.npy").err()).doesNotContain("\tat ");
    assertThat(eval("z = x", "x=no.npy", "z=z.npy", "--debug").err()).contains("\tat ");
  }

  private Refusal refuses(String... arguments) {
    Map<String, Long> before = files();
    Refusal refusal = assertRefusal(eval(arguments));
    assertThat(files()).isEqualTo(before);
    return refusal;
  }

  private static Refusal refusesAsIs(String... arguments) {
    return assertRefusal(
        Command.run(Stream.concat(Stream.of("eval"), Stream.of(arguments)).toArray(String[]::new)));
  }

  private static Refusal assertRefusal(Command.Result result) {
    assertThat(result.out()).isEmpty();
    assertThat(result.err()).startsWith("tidepool: ").endsWith(System.lineSeparator());
    assertThat(result.err().lines()).as(result.err()).hasSize(1);
    assertThat(result.status()).as(result.err()).isEqualTo(2);
    return new Refusal(result.err().strip());
  }

  /** One line of the error stream. */
  private record Refusal(String text) {
    Refusal contains(String... parts) {
      assertThat(text).contains(parts);
      return this;
    }
  }

  /** Runs eval on the CPU with the files of bindings in the test's folder. */
  private Command.Result eval(String... arguments) {
    Stream<String> inFolder =
        Arrays.stream(arguments)
            .skip(1)
            .map(text -> text.replaceFirst("^(\\w+)=(?=[^/\\d])", "$1=" + folder + "/"));
    return Command.run(
        Stream.of(Stream.of("eval", arguments[0], "--device", "cpu:0"), inFolder)
            .flatMap(part -> part)
            .toArray(String[]::new));
  }

  private Map<String, Long> files() {
    try (Stream<Path> list = Files.list(folder)) {
      Map<String, Long> sizes = new TreeMap<>();
      for (Path file : list.toList()) {
        sizes.put(file.getFileName().toString(), Files.size(file));
      }
      return sizes;
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }
}

package dev.tidepool.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledOnOs;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The script at the project's root that builds the command and becomes it, and its like. */
class LauncherTest {
  private static final Path PROJECT =
      Files.isDirectory(Path.of("cli")) ? Path.of("") : Path.of("..");

  /** What is not everywhere, or has other options elsewhere than with GNU. */
  private static final Pattern GNU =
      Pattern.compile(
          "readlink -f \"\\$0|\\bnproc\\)|loadavg|\\bsed (-r|-i)|\\bstat -c|\\bdate -d|\\bgrep"
              + " -P|\\btac\\b|\\brealpath\\b|\\[\\[|\\$\\{\\w+//|<\\(|\\bfunction |^ *source"
              + " |pipefail");

  @TempDir Path folder;

  @ParameterizedTest
  @ValueSource(
      strings = {
        "tidepool",
        ".mvn/jdk.sh",
        "examples/run.sh",
        "benchmarks/run.sh",
        "benchmarks/trace.sh",
        "benchmarks/machine.sh",
        "cli/src/image/tidepool",
        "cli/src/image/tidepool-report"
      })
  @DisabledOnOs(OS.WINDOWS)
  void scripts_for_every_system_are_for_any_shell_and_use_no_extensions(String name)
      throws Exception {
    Path script = PROJECT.resolve(name);
    String text = Files.readString(script);
    if (Files.isExecutable(script)) {
      assertThat(text).startsWith("#!/bin/sh\n");
    }
    assertThat(text.lines().filter(line -> GNU.matcher(line).find())).isEmpty();
    Process shell = new ProcessBuilder("sh", "-n", script.toString()).inheritIO().start();
    assertThat(shell.waitFor()).isZero();
  }

  /** As on an older Mac, whose readlink has no option for it. */
  @Test
  @DisabledOnOs(OS.WINDOWS)
  void finds_a_jdk_without_gnu_commands() throws Exception {
    Path jdk = jdk("jdk", "25.0.1");
    Path commands = Files.createDirectory(folder.resolve("commands"));
    executable(commands.resolve("readlink"), "[ $# -eq 1 ] || exit 1; echo \"$1\"");
    assertThat(found(Map.of("PATH", jdk.resolve("bin") + ":" + commands + ":/bin:/usr/bin")))
        .isEqualTo(jdk + " 25.0.1+7");
  }

  @Test
  @DisabledOnOs(OS.WINDOWS)
  void prefers_the_jdk_of_java_home_unless_it_is_too_old() throws Exception {
    Path old = jdk("old", "21.0.2");
    Path fresh = jdk("fresh", "26");
    Path other = jdk("other", "25");
    String path = other.resolve("bin") + ":/bin:/usr/bin";
    assertThat(found(Map.of("PATH", path, "JAVA_HOME", fresh.toString())))
        .isEqualTo(fresh + " 26+7");
    assertThat(found(Map.of("PATH", path, "JAVA_HOME", old.toString()))).isEqualTo(other + " 25+7");
  }

  @Test
  @DisabledOnOs(OS.WINDOWS)
  void the_benchmarks_tell_cores_and_load_on_every_system() throws Exception {
    Path commands = Files.createDirectory(folder.resolve("commands"));
    String load = ". \"$1\"; load; cores";
    for (String line :
        List.of(
            " 21:40:01 up 31 min,  1 user,  load average: 1.28, 1.18, 1.13",
            "21:40  up 3 days,  2:11, 4 users, load averages: 1.28 1.18 1.13")) {
      executable(commands.resolve("uptime"), "echo '" + line + "'");
      assertThat(
              shell(
                      Map.of("PATH", commands + ":/bin:/usr/bin"),
                      load,
                      PROJECT.resolve("benchmarks/machine.sh"))
                  .lines())
          .hasSize(2)
          .startsWith("1.28 1.18 1.13");
    }
  }

  @Test
  @DisabledOnOs(OS.WINDOWS)
  void shows_which_module_is_built_and_no_more_of_the_log() throws Exception {
    executable(
        folder.resolve("mvnw"),
        """
        echo '[INFO] Scanning for projects...'
        echo '[INFO] Building Tidepool Memory 0.2.0-SNAPSHOT                     [2/10]'
        echo '[WARNING] nothing to see'
        echo '[INFO] BUILD SUCCESS'
        """);
    assertThat(built("exit code 0")).containsExactly("  [2/10] Tidepool Memory");
  }

  @Test
  @DisabledOnOs(OS.WINDOWS)
  void a_build_that_fails_shows_its_errors_and_the_exit_code() throws Exception {
    executable(
        folder.resolve("mvnw"),
        """
        echo '[INFO] Building Tidepool 0.2.0                                     [1/10]'
        echo '[ERROR] no network'
        echo 'a message of the JVM'
        exit 3
        """);
    assertThat(built("exit code 3"))
        .containsExactly("  [1/10] Tidepool", "[ERROR] no network", "a message of the JVM");
  }

  @Test
  @EnabledOnOs(OS.LINUX)
  void starts_side_by_side_build_once() throws Exception {
    Path java = jdk("jdk", "25.0.1").resolve("bin/java");
    executable(java, "exit 0");
    Path launcher = launcher();
    executable(
        folder.resolve("mvnw"),
        """
        mkdir running || exit 1
        sleep 1
        echo built >> builds
        mkdir -p cli/target/app
        touch cli/target/app/built
        rmdir running
        """);
    List<Process> starts = new ArrayList<>();
    for (int i = 0; i < 3; i++) {
      ProcessBuilder builder = new ProcessBuilder(launcher.toString(), "info");
      builder.environment().put("JAVA_HOME", folder.resolve("jdk").toString());
      builder.environment().put("TIDEPOOL_JAVA_OPTS", "-Xint");
      starts.add(builder.inheritIO().start());
    }
    for (Process start : starts) {
      assertThat(start.waitFor()).isZero();
    }
    assertThat(folder.resolve("builds")).hasContent("built");
  }

  @Test
  @EnabledOnOs(OS.LINUX)
  void options_of_the_user_that_the_jvm_does_not_know_are_its_error() throws Exception {
    executable(jdk("jdk", "25.0.1").resolve("bin/java"), "echo \"$@\"");
    Path launcher = launcher();
    Files.createFile(Files.createDirectories(folder.resolve("cli/target/app")).resolve("built"));
    Map<String, String> environment =
        Map.of(
            "PATH", "/bin:/usr/bin",
            "JAVA_HOME", folder.resolve("jdk").toString(),
            "TIDEPOOL_JAVA_OPTS", "-XX:+Mistyped");
    assertThat(shell(environment, "\"$1\" info", launcher))
        .contains("-XX:+Mistyped", "info")
        .doesNotContain("IgnoreUnrecognizedVMOptions");
  }

  private Path launcher() throws IOException {
    Files.createDirectory(folder.resolve(".mvn"));
    Files.copy(PROJECT.resolve(".mvn/jdk.sh"), folder.resolve(".mvn/jdk.sh"));
    return Files.copy(PROJECT.resolve("tidepool"), folder.resolve("tidepool"));
  }

  /** What is shown of a build that ends with that exit code. */
  private List<String> built(String end) throws Exception {
    String script =
        ". \"$1\"; jdk=/jdk root="
            + folder
            + "; code=0; maven || code=$?; echo \"exit code $code\"";
    String output = shell(Map.of("PATH", "/bin:/usr/bin"), script, PROJECT.resolve(".mvn/jdk.sh"));
    assertThat(output).endsWith(end + "\n");
    return output.lines().takeWhile(line -> !line.equals(end)).toList();
  }

  private String found(Map<String, String> environment) throws Exception {
    String script = ". \"$1\"; find_jdk; echo \"$jdk $build\"";
    return shell(environment, script, PROJECT.resolve(".mvn/jdk.sh")).strip();
  }

  private static String shell(Map<String, String> environment, String script, Path argument)
      throws Exception {
    ProcessBuilder builder =
        new ProcessBuilder("/bin/sh", "-c", script, "test", argument.toAbsolutePath().toString());
    builder.environment().clear();
    builder.environment().putAll(environment);
    Process process = builder.redirectErrorStream(true).start();
    String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(process.waitFor()).as(output).isZero();
    return output;
  }

  private Path jdk(String name, String version) throws IOException {
    Path jdk = folder.resolve(name);
    Files.createDirectories(jdk.resolve("bin"));
    executable(jdk.resolve("bin/java"), "exit 1");
    executable(jdk.resolve("bin/javac"), "exit 1");
    Files.writeString(
        jdk.resolve("release"),
        "IMPLEMENTOR=\"Test\"\nJAVA_RUNTIME_VERSION=\"%s+7\"\nJAVA_VERSION=\"%s\"\n"
            .formatted(version, version));
    return jdk;
  }

  private static void executable(Path file, String body) throws IOException {
    Files.writeString(file, "#!/bin/sh\n" + body + "\n");
    Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rwxr-xr-x"));
  }

  @Test
  void builds_when_sources_of_any_part_of_the_command_are_newer() throws IOException {
    String launcher = Files.readString(PROJECT.resolve("tidepool"));
    List<String> modules = modules();
    assertThat(modules).contains("memory", "cuda", "cli");
    assertThat(modules)
        .allSatisfy(
            module ->
                assertThat(launcher)
                    .contains("\"$root/" + module + "/pom.xml\"")
                    .contains("\"$root/" + module + "/src/main\""));
  }

  /** The modules of this project that the command is made of. */
  private static List<String> modules() throws IOException {
    String pom = Files.readString(PROJECT.resolve("cli").resolve("pom.xml"));
    Stream<MatchResult> artifacts =
        Pattern.compile("<artifactId>tidepool-(\\w+)</artifactId>").matcher(pom).results();
    return artifacts
        .map(artifact -> artifact.group(1))
        .filter(module -> Files.isDirectory(PROJECT.resolve(module).resolve("src").resolve("main")))
        .toList();
  }
}

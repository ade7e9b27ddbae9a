package dev.tidepool.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.openjdk.jmh.annotations.Benchmark;

class RoundsTest {
  @Test
  void aNameThatNoBenchmarkHasIsRefused() {
    assertThatThrownBy(() -> Rounds.classes(List.of("NoBenchmark")))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContainingAll("NoBenchmark", "UsedBufferBenchmark");
  }

  @Test
  void comparisonsNameBenchmarksOfTheirClass() {
    List<String> compared = new ArrayList<>();
    for (Class<?> type : Rounds.classes(List.of())) {
      List<Method> benchmarks =
          Arrays.stream(type.getMethods())
              .filter(method -> method.isAnnotationPresent(Benchmark.class))
              .toList();
      for (Method method : type.getDeclaredMethods()) {
        ComparedWith peers = method.getAnnotation(ComparedWith.class);
        if (peers != null) {
          assertThat(benchmarks).contains(method);
          assertThat(benchmarks).extracting(Method::getName).contains(peers.value());
          compared.add(method.getName());
        }
      }
    }
    assertThat(compared).hasSizeGreaterThan(40);
  }

  /** {@code run 3 `OneBenchmark AnotherBenchmark`}, as the page writes its commands. */
  @Test
  void theCommandsOfTheReadmeNameBenchmarks() throws IOException {
    String page = Files.readString(Path.of("README.md"));
    Matcher commands = Pattern.compile("\\b[Rr]un\\s\\d\\s`([^`]+)`").matcher(page);
    List<String> names = new ArrayList<>();
    while (commands.find()) {
      names.addAll(List.of(commands.group(1).split("\\s+")));
    }
    assertThat(names).hasSizeGreaterThan(15);
    assertThat(Rounds.classes(names)).hasSameSizeAs(names);
  }
}

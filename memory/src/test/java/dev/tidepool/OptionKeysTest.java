package dev.tidepool;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Every option but the listeners is set by a property and by an environment variable. */
final class OptionKeysTest {
  /** An option, a text that changes it, and what it is then. */
  private record Option(MemoryOption<?> option, String text, Object value) {
    String key() {
      return option.key();
    }

    @Override
    public String toString() {
      return key() + "=" + text;
    }

    /** What the option's own method answers. */
    private Object of(MemoryOptions options) {
      try {
        return MemoryOptions.class.getMethod(method()).invoke(options);
      } catch (ReflectiveOperationException e) {
        throw new AssertionError(e);
      }
    }

    private String method() {
      StringBuilder name = new StringBuilder();
      for (String word : key().split("-")) {
        name.append(
            name.isEmpty()
                ? word
                : word.substring(0, 1).toUpperCase(Locale.ROOT) + word.substring(1));
      }
      return name.toString();
    }
  }

  static Stream<Option> options() {
    return MemoryOption.all().stream().map(OptionKeysTest::option);
  }

  private static Option option(MemoryOption<?> option) {
    return switch (option.defaultValue()) {
      case Boolean set -> new Option(option, set ? "off" : "on", !set);
      case Long _ -> new Option(option, "5k", 5L << 10);
      case Integer _ -> new Option(option, "17", 17);
      case Duration _ -> new Option(option, "PT7S", Duration.ofSeconds(7));
      case List<?> _ -> new Option(option, "0.25, 0.5", List.of(0.25, 0.5));
      case Optional<?> _ -> new Option(option, "a/file", Optional.of(Path.of("a/file")));
      case Enum<?> set -> {
        Object[] all = set.getDeclaringClass().getEnumConstants();
        String last = all[all.length - 1].toString();
        yield new Option(
            option, last.toLowerCase(Locale.ROOT).replace('_', '-'), all[all.length - 1]);
      }
      default -> throw new AssertionError("an option of a new kind: " + option);
    };
  }

  private static void assertChangesItself(Option option, MemoryOptions options) {
    assertThat(option.of(options)).isEqualTo(option.value());
    List<String> changed = new ArrayList<>();
    for (MemoryOption<?> other : MemoryOption.all()) {
      if (!options.get(other).equals(MemoryOptions.defaults().get(other))) {
        changed.add(other.key());
      }
    }
    // The bytes that are kept follow a lower maximum.
    changed.removeIf(key -> option.key().equals("max-pool-bytes") && key.equals("kept-pool-bytes"));
    assertThat(changed).containsExactly(option.key());
  }

  @ParameterizedTest
  @MethodSource("options")
  void isSetByItsKey(Option option) {
    assertChangesItself(option, MemoryOptions.from(Map.of(option.key(), option.text())));
    assertChangesItself(option, MemoryOptions.builder().set(option.key(), option.text()).build());
  }

  @ParameterizedTest
  @MethodSource("options")
  void isOnThePageOfOptions(Option option) throws Exception {
    String page = Files.readString(Path.of("..", "docs", "reference", "options.md"));
    assertThat(page).contains("| `" + option.key() + "` |");
    assertThat(option.option().description()).isNotBlank().doesNotEndWith(".");
  }

  @Test
  void anUnknownKeyIsRefusedWithTheNearestOne() {
    assertThatThrownBy(() -> MemoryOptions.from(Map.of("memory-limits", "1k")))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("there is no option 'memory-limits'; the nearest is 'memory-limit'");
    assertThatThrownBy(() -> MemoryOptions.builder().set("jxm", "true"))
        .hasMessageContaining("the nearest is 'jmx'");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "memory-limit | 0 | memory-limit=0: memory-limit is 0; it must be 1 or more, or -1",
        "memory-limit | much | memory-limit=much: ",
        "jmx | perhaps | jmx=perhaps: write true or false",
        "eviction-policy | newest | eviction-policy=newest: write one of [lru, lfu, fifo,"
            + " time-to-live]",
        "watermarks | 0.5, 2 | watermarks=0.5, 2: watermarks is [0.5, 2.0]; it must be parts above"
            + " 0",
        "trim-interval | -PT1S | trim-interval=-PT1S: trim-interval is PT-1S; it must be from zero",
        "trim-interval | soon | trim-interval=soon: 'soon' is no duration; write 500ms, 30s, 5m,",
        "trim-interval | 99999999999999999999h | trim-interval=99999999999999999999h: '99999",
        "trim-interval | 9999999999999999d | trim-interval=9999999999999999d: '99999",
        "staging-chunk | 17 | staging-chunk=17: staging-chunk is 17; it must be from 4096 to",
      })
  void aValueOutOfItsRangeIsRefusedByName(String key, String text, String message) {
    assertThatThrownBy(() -> MemoryOptions.from(Map.of(key, text)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageStartingWith(message);
  }

  @ParameterizedTest
  @CsvSource({
    "500ms, PT0.5S",
    "30s, PT30S",
    "5m, PT5M",
    "2H, PT2H",
    "1d, PT24H",
    "7us, PT0.000007S"
  })
  void aDurationMayHaveAUnit(String text, Duration time) {
    assertThat(MemoryOptions.from(Map.of("trim-interval", text)).trimInterval()).isEqualTo(time);
  }

  @Test
  void optionsThatAreSetAlikeAreEqualAndTheTextNamesWhatWasSet() {
    MemoryOptions one = MemoryOptions.from(Map.of("memory-limit", "1k", "jmx", "on"));
    MemoryOptions other = MemoryOptions.builder().memoryLimit(1024).jmx(true).build();
    assertThat(one).isEqualTo(other).hasSameHashCodeAs(other);
    assertThat(one).isNotEqualTo(MemoryOptions.defaults());
    assertThat(one).hasToString("MemoryOptions[memory-limit=1024, jmx=true]");
  }

  @ParameterizedTest
  @MethodSource("options")
  void isSetByItsProperty(Option option) {
    String property = "tidepool." + option.key();
    System.setProperty(property, option.text());
    MemoryOptions options;
    try {
      options = MemoryOptions.defaults();
    } finally {
      System.clearProperty(property);
    }
    assertChangesItself(option, options);
  }

  @ParameterizedTest
  @MethodSource("options")
  void isSetByItsEnvironmentVariable(Option option) {
    String variable = "TIDEPOOL_" + option.key().toUpperCase(Locale.ROOT).replace('-', '_');
    assertChangesItself(
        option, new MemoryOptions.Builder(Map.of(variable, option.text())::get).build());
  }

  /** A user of a program may want the default where the program set something else. */
  @ParameterizedTest
  @ValueSource(strings = {"max-pool-bytes", "pinned-limit", "memory-limit", "history"})
  void isSetBackToItsDefaultByMinusOne(String key) {
    String variable = "TIDEPOOL_" + key.toUpperCase(Locale.ROOT).replace('-', '_');
    MemoryOptions options =
        new MemoryOptions.Builder(Map.of(variable, "-1")::get)
            .maxPoolBytes(1 << 30)
            .pinnedLimit(1)
            .memoryLimit(1 << 30)
            .history(1)
            .build();
    List<Long> set =
        List.of(
            options.maxPoolBytes(),
            options.pinnedLimit(),
            options.memoryLimit(),
            (long) options.history());
    assertThat(set).containsOnlyOnce(-1L);
  }
}

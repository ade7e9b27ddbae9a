package dev.tidepool;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.reflect.RecordComponent;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Every option but the listeners is set by a property and by an environment variable. */
final class OptionKeysTest {
  private static final List<String> LISTENERS = List.of("reportListener", "pressureListener");

  /** An option, its key, a text that changes it, and what it is then. */
  private record Option(RecordComponent component, String key, String text, Object value) {
    @Override
    public String toString() {
      return key + "=" + text;
    }

    private Object of(MemoryOptions options) {
      return read(component, options);
    }
  }

  private static Object read(RecordComponent component, MemoryOptions options) {
    try {
      return component.getAccessor().invoke(options);
    } catch (ReflectiveOperationException e) {
      throw new AssertionError(e);
    }
  }

  static Stream<Option> options() {
    return Arrays.stream(MemoryOptions.class.getRecordComponents())
        .filter(component -> !LISTENERS.contains(component.getName()))
        .map(OptionKeysTest::option);
  }

  private static Option option(RecordComponent component) {
    String key = component.getName().replaceAll("([A-Z])", "-$1").toLowerCase(Locale.ROOT);
    return switch (read(component, MemoryOptions.defaults())) {
      case Boolean set -> new Option(component, key, set ? "off" : "on", !set);
      case Long _ -> new Option(component, key, "5k", 5L << 10);
      case Integer _ -> new Option(component, key, "17", 17);
      case Duration _ -> new Option(component, key, "PT7S", Duration.ofSeconds(7));
      case List<?> _ -> new Option(component, key, "0.25, 0.5", List.of(0.25, 0.5));
      case Optional<?> _ -> new Option(component, key, "a/file", Optional.of(Path.of("a/file")));
      case Enum<?> set -> {
        Object[] all = set.getDeclaringClass().getEnumConstants();
        String last = all[all.length - 1].toString();
        yield new Option(
            component, key, last.toLowerCase(Locale.ROOT).replace('_', '-'), all[all.length - 1]);
      }
      default -> throw new AssertionError("an option of a new kind: " + component);
    };
  }

  private static void assertChangesItself(Option option, MemoryOptions options) {
    assertThat(option.of(options)).isEqualTo(option.value());
    List<String> changed = new ArrayList<>();
    for (RecordComponent other : MemoryOptions.class.getRecordComponents()) {
      if (!read(other, options).equals(read(other, MemoryOptions.defaults()))) {
        changed.add(other.getName());
      }
    }
    // The bytes that are kept follow a lower maximum.
    changed.removeIf(name -> option.key().equals("max-pool-bytes") && name.equals("keptPoolBytes"));
    assertThat(changed).containsExactly(option.component().getName());
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

  /** Who runs a program may want the default where the program set something else. */
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

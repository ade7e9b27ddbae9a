package dev.tidepool.spring;

import dev.tidepool.Accelerator;
import dev.tidepool.MemoryOption;
import dev.tidepool.MemoryOptions;
import dev.tidepool.Tidepool;
import dev.tidepool.TransferException;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.bind.Bindable;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.source.ConfigurationPropertyName;
import org.springframework.boot.context.properties.source.ConfigurationPropertySource;
import org.springframework.boot.context.properties.source.ConfigurationPropertySources;
import org.springframework.boot.context.properties.source.InvalidConfigurationPropertyValueException;
import org.springframework.boot.context.properties.source.IterableConfigurationPropertySource;
import org.springframework.core.env.ConfigurableEnvironment;
import org.springframework.core.env.PropertiesPropertySource;
import org.springframework.core.env.SystemEnvironmentPropertySource;

/**
 * The properties {@code tidepool.*}: the library's table of options, and {@code
 * tidepool.accelerator}. A new option of the library becomes a property without a change here.
 * Editors read a second list, {@code META-INF/spring-configuration-metadata.json}, which a test
 * compares with the table.
 *
 * <p>Names are relaxed, as in all of Spring Boot. Values have the library's syntax, because the
 * library also reads them from system properties and environment variables.
 */
final class TidepoolProperties {
  static final String ACCELERATOR = "tidepool.accelerator";
  private static final ConfigurationPropertyName PREFIX = ConfigurationPropertyName.of("tidepool");

  private final ConfigurableEnvironment environment;
  private final Binder binder;

  TidepoolProperties(ConfigurableEnvironment environment) {
    this.environment = environment;
    this.binder = Binder.get(environment);
  }

  /**
   * Returns a builder with the values of the properties.
   *
   * @throws InvalidConfigurationPropertyValueException if one is unknown or its value is invalid
   */
  MemoryOptions.Builder options() {
    for (ConfigurationPropertySource source : ConfigurationPropertySources.get(environment)) {
      if (source instanceof IterableConfigurationPropertySource names) {
        names.stream().filter(PREFIX::isAncestorOf).forEach(name -> checkKnown(name, source));
      }
    }
    MemoryOptions.Builder builder = MemoryOptions.builder();
    MemoryOption.all().forEach(option -> set(builder, option));
    return builder;
  }

  private static void checkKnown(ConfigurationPropertyName name, ConfigurationPropertySource from) {
    Object source = from.getUnderlyingSource();
    // Variables of other programs may have the same prefix, and backends have their own properties.
    if (source instanceof SystemEnvironmentPropertySource || isForBackends(name, source)) {
      return;
    }
    boolean isOfOneWord = name.getNumberOfElements() == 2 || name.isNumericIndex(2);
    if (!isOfOneWord) {
      throw invalid(
          name.toString(),
          value(from, name),
          "options have one word after 'tidepool.'; backends read system properties only, such as"
              + " -Dtidepool.cuda.memory=current");
    }
    String word = name.getElement(1, ConfigurationPropertyName.Form.UNIFORM);
    if (known().noneMatch(key -> key.replace("-", "").equals(word))) {
      throw invalid(
          name.toString(),
          value(from, name),
          unknown(name.getElement(1, ConfigurationPropertyName.Form.DASHED)));
    }
  }

  private static boolean isForBackends(ConfigurationPropertyName name, @Nullable Object source) {
    return source instanceof PropertiesPropertySource
        && (name.getNumberOfElements() > 2 || name.toString().equals("tidepool.nvrtc"));
  }

  private static Stream<String> known() {
    return Stream.concat(
        Stream.of("accelerator"), MemoryOption.all().stream().map(MemoryOption::key));
  }

  private static String unknown(String key) {
    try {
      MemoryOption.named(key);
      return "it is not written as an option is";
    } catch (IllegalArgumentException e) {
      return e.getMessage() + "; beside the options there is " + ACCELERATOR;
    }
  }

  private static @Nullable Object value(
      ConfigurationPropertySource source, ConfigurationPropertyName name) {
    var property = source.getConfigurationProperty(name);
    return property == null ? null : property.getValue();
  }

  private void set(MemoryOptions.Builder builder, MemoryOption<?> option) {
    boolean isList = option.defaultValue() instanceof List;
    String text = isList ? list(option.property()) : text(option.property());
    if (text == null) {
      return;
    }
    try {
      builder.set(option.key(), text);
    } catch (IllegalArgumentException e) {
      // The origin of a list written as elements is that of its first element.
      String name =
          isList && !environment.containsProperty(option.property())
              ? option.property() + "[0]"
              : option.property();
      throw invalid(name, text, Objects.toString(e.getMessage(), "it is impossible"));
    }
  }

  private @Nullable String text(String name) {
    return binder.bind(name, String.class).orElse(null);
  }

  private @Nullable String list(String name) {
    return binder
        .bind(name, Bindable.listOf(String.class))
        .map(parts -> String.join(",", parts))
        .orElse(null);
  }

  /** Builds the options. An error about a combination of options names the property to change. */
  MemoryOptions build(MemoryOptions.Builder builder) {
    try {
      return builder.build();
    } catch (IllegalArgumentException e) {
      String message = String.valueOf(e.getMessage());
      throw naming(message, option -> message.startsWith(option.key() + " ")).orElse(e);
    }
  }

  /** Returns the value of {@code tidepool.accelerator}: an id, a kind, or {@code auto}. */
  String accelerator() {
    String name = text(ACCELERATOR);
    return name == null ? "auto" : name;
  }

  /**
   * Opens the drivers that the accelerator needs, and no others.
   *
   * @throws InvalidConfigurationPropertyValueException if there is no such accelerator, or an
   *     option names a folder or file that cannot be used
   */
  Tidepool open(MemoryOptions options) {
    try {
      return Tidepool.open(accelerator(), options);
    } catch (IllegalArgumentException e) {
      String message = String.valueOf(e.getMessage());
      throw naming(message, option -> message.startsWith(option.key() + " "))
          .orElseGet(() -> invalid(ACCELERATOR, accelerator(), message));
    } catch (TransferException e) {
      String message = String.valueOf(e.getMessage());
      throw naming(message, option -> message.contains("the " + option.key() + " ")).orElse(e);
    }
  }

  /**
   * Returns the accelerator that the property names, or the best one.
   *
   * @throws InvalidConfigurationPropertyValueException if the service's own {@code Tidepool} has no
   *     such accelerator
   */
  Accelerator accelerator(Tidepool tidepool) {
    try {
      return tidepool.accelerator(accelerator());
    } catch (IllegalArgumentException e) {
      throw invalid(ACCELERATOR, accelerator(), String.valueOf(e.getMessage()));
    }
  }

  /** Returns the error of the property whose option a message is about; empty if there is none. */
  private Optional<RuntimeException> naming(String message, Predicate<MemoryOption<?>> isMeant) {
    return MemoryOption.all().stream()
        .filter(isMeant)
        .findFirst()
        .map(option -> invalid(option.property(), text(option.property()), message));
  }

  private static InvalidConfigurationPropertyValueException invalid(
      String name, @Nullable Object value, String reason) {
    return new InvalidConfigurationPropertyValueException(name, value, reason);
  }
}

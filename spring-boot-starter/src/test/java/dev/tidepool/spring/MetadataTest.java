package dev.tidepool.spring;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import dev.tidepool.MemoryOption;
import java.io.InputStreamReader;
import java.io.Reader;
import java.time.Duration;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

@DisplayName("The metadata for editors")
class MetadataTest {
  private static Map<String, JsonObject> metadata() throws Exception {
    Map<String, JsonObject> properties = new HashMap<>();
    try (Reader text =
        new InputStreamReader(
            MetadataTest.class.getResourceAsStream("/META-INF/spring-configuration-metadata.json"),
            UTF_8)) {
      for (JsonElement each :
          JsonParser.parseReader(text).getAsJsonObject().getAsJsonArray("properties")) {
        JsonObject property = each.getAsJsonObject();
        properties.put(property.get("name").getAsString(), property);
      }
    }
    return properties;
  }

  @Test
  @DisplayName("has every option of the library, and the accelerator")
  void names() throws Exception {
    Set<String> options =
        MemoryOption.all().stream()
            .map(MemoryOption::property)
            .collect(Collectors.toCollection(TreeSet::new));
    options.add(TidepoolProperties.ACCELERATOR);
    assertThat(metadata().keySet()).containsExactlyInAnyOrderElementsOf(options);
  }

  @Test
  @DisplayName("says of each what the library says, with its default")
  void descriptions() throws Exception {
    Map<String, JsonObject> metadata = metadata();
    for (MemoryOption<?> option : MemoryOption.all()) {
      JsonObject property = metadata.get(option.property());
      assertThat(property.get("description").getAsString())
          .isEqualToIgnoringCase(option.description() + ".");
      JsonElement written = property.get("defaultValue");
      if (option.defaultValue() instanceof Optional) {
        assertThat(written).isNull();
      } else {
        String text =
            written.isJsonArray()
                ? written.toString().replaceAll("[\\[\\]]", "")
                : written.getAsString();
        assertThat(option.parse(text)).as(option.key()).isEqualTo(option.defaultValue());
      }
    }
  }

  @Test
  @DisplayName("has types that complete")
  void types() throws Exception {
    Map<String, JsonObject> metadata = metadata();
    for (MemoryOption<?> option : MemoryOption.all()) {
      String type = metadata.get(option.property()).get("type").getAsString();
      switch (option.defaultValue()) {
        case Enum<?> constant -> assertThat(type).isEqualTo(constant.getDeclaringClass().getName());
        case Boolean _, Integer _, Duration _ ->
            assertThat(type).isEqualTo(option.defaultValue().getClass().getName());
        default -> assertThat(type.toLowerCase(Locale.ROOT)).startsWith("java.");
      }
    }
  }
}

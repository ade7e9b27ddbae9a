package dev.tidepool.spark;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.MemoryOption;
import dev.tidepool.MemoryOptions;
import java.util.Map;
import java.util.OptionalLong;
import org.apache.spark.SparkConf;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

@DisplayName("A property spark.tidepool.KEY")
class SettingsTest {
  private static Settings settings(String... keysAndValues) {
    SparkConf conf = new SparkConf(false).set("spark.app.name", "test");
    for (int i = 0; i < keysAndValues.length; i += 2) {
      conf.set(keysAndValues[i], keysAndValues[i + 1]);
    }
    return Settings.of(conf);
  }

  @Test
  @DisplayName("is an option of the library")
  void options() {
    for (MemoryOption<?> option : MemoryOption.all()) {
      if (option.defaultValue() instanceof Boolean flag) {
        MemoryOptions options =
            settings("spark.tidepool." + option.key(), String.valueOf(!flag)).options();
        assertThat(options.get(option)).isEqualTo(!flag);
      }
    }
    assertThat(settings("spark.tidepool.memory-limit", "2g").options().memoryLimit())
        .isEqualTo(2L << 30);
  }

  @Test
  @DisplayName("has a default")
  void defaults() {
    Settings settings = settings();
    assertThat(settings.accelerator()).isEqualTo("auto");
    assertThat(settings.resource()).isEqualTo("gpu");
    assertThat(settings.chunkBytes()).isEmpty();
    assertThat(settings("spark.tidepool.chunk-bytes", "3m").chunkBytes())
        .isEqualTo(OptionalLong.of(3L << 20));
  }

  @Test
  @DisplayName("that does not exist is refused by its name and the nearest one")
  void unknown() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> settings("spark.tidepool.memory-limt", "2g"))
        .withMessage(
            "spark.tidepool.memory-limt: there is no such setting; did you mean 'memory-limit'?");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> settings("spark.tidepool.acelerator", "cpu"))
        .withMessageContaining("'accelerator'");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> settings("spark.tidepool.qqqqqqqqqqqqqqqqqqqqq", "1"))
        .withMessageContaining("spark.tidepool.qqqqqqqqqqqqqqqqqqqqq")
        .withMessageContaining("the nearest is");
  }

  @Test
  @DisplayName("with an impossible value is refused by its name")
  void impossible() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> settings("spark.tidepool.memory-limit", "much"))
        .withMessageStartingWith("spark.tidepool.memory-limit=much");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> settings("spark.tidepool.chunk-bytes", "2x"))
        .withMessageStartingWith("spark.tidepool.chunk-bytes=2x");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> settings("spark.tidepool.chunk-bytes", "16"))
        .withMessageContaining("from 4k to 1g");
  }

  @Test
  @DisplayName("names no single device where Spark assigns devices")
  void twoWays() {
    assertThatIllegalArgumentException()
        .isThrownBy(
            () ->
                settings(
                    "spark.tidepool.accelerator",
                    "opencl:1",
                    "spark.task.resource.gpu.amount",
                    "1"))
        .withMessageContaining("spark.tidepool.accelerator=opencl:1 names one device")
        .withMessageContaining("set the kind, opencl");
  }

  @Test
  @DisplayName("stops the application at its start if it is wrong")
  void atStart() {
    assertThatThrownBy(
            () -> LocalSpark.start("local[1]", Map.of("spark.tidepool.memory-limt", "2g")))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("spark.tidepool.memory-limt");
  }
}

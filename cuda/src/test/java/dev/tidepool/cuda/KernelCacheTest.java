package dev.tidepool.cuda;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class KernelCacheTest {
  @TempDir private Path folder;

  @Test
  void theSettingAndTheEnvironmentSayWhere() {
    assertThat(KernelCache.of(Optional.of("none"), Map.of(), folder).path()).isNull();
    assertThat(KernelCache.of(Optional.of("/k"), Map.of(), folder).path()).isEqualTo(Path.of("/k"));
    assertThat(KernelCache.of(Optional.empty(), Map.of(), folder).path())
        .isEqualTo(folder.resolve(".cache/tidepool/cuda"));
    assertThat(KernelCache.of(Optional.empty(), Map.of("XDG_CACHE_HOME", "/x"), folder).path())
        .isEqualTo(Path.of("/x/tidepool/cuda"));
  }

  @Test
  void aUserWithoutAHomeKeepsNothingRatherThanWhereTheProgramHappensToRun() {
    // What the virtual machine says of one.
    assertThat(KernelCache.of(Optional.empty(), Map.of(), Path.of("?")).path()).isNull();
    assertThat(
            KernelCache.of(Optional.empty(), Map.of("XDG_CACHE_HOME", "/x"), Path.of("?")).path())
        .isEqualTo(Path.of("/x/tidepool/cuda"));
  }
}

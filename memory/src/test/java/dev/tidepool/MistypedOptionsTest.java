package dev.tidepool;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Names that are an option but for a typing error are warned of, once each. */
final class MistypedOptionsTest {
  @RegisterExtension final LogLines log = new LogLines();

  @Test
  void aMistypedPropertyIsWarnedOfOnceWhenOptionsAreRead() {
    System.setProperty("tidepool.memory-limt", "1g");
    try {
      assertThat(MemoryOptions.defaults().memoryLimit()).isEqualTo(-1);
      MemoryOptions.defaults();
    } finally {
      System.clearProperty("tidepool.memory-limt");
    }
    assertThat(log.all())
        .containsExactly(
            "no option has the name of the system property tidepool.memory-limt;"
                + " is tidepool.memory-limit meant?");
  }

  @Test
  void aMistypedVariableIsWarnedOf() {
    MistypedOptions.warn(Set.of(), Set.of("TIDEPOOL_SPIL_DIRECTORY"));
    assertThat(log.all())
        .containsExactly(
            "no option has the name of the environment variable TIDEPOOL_SPIL_DIRECTORY;"
                + " is TIDEPOOL_SPILL_DIRECTORY meant?");
  }

  @Test
  void optionsAndNamesThatAreFarFromAnyAreNotWarnedOf() {
    MistypedOptions.warn(
        MemoryOption.all().stream().map(MemoryOption::property).collect(Collectors.toSet()),
        MemoryOption.all().stream()
            .map(MemoryOption::environmentVariable)
            .collect(Collectors.toSet()));
    MistypedOptions.warn(
        Set.of("tidepool.depth", "tidepool", "java.home", "tidepool.", "tidepool.test.trac"),
        Set.of("TIDEPOOL_", "TIDEPOOL_DEPTH", "PATH"));
    assertThat(log.all()).isEmpty();
  }

  @Test
  void theSpellingsOfSpringBootAreNotWarnedOf() {
    MistypedOptions.warn(Set.of("tidepool.memoryLimit"), Set.of("TIDEPOOL_MEMORYLIMIT"));
    assertThat(log.all()).isEmpty();
  }

  /** What backends, the command, builds and tests of this project read. */
  @Test
  void whatElseTheProjectReadsIsNotWarnedOf() {
    MistypedOptions.warn(
        Set.of(
            "tidepool.accelerator",
            "tidepool.cuda.cache",
            "tidepool.errorprone",
            "tidepool.format",
            "tidepool.jar",
            "tidepool.jmods",
            "tidepool.manager",
            "tidepool.nvrtc",
            "tidepool.opencl.svm",
            "tidepool.seed",
            "tidepool.test.seed",
            "tidepool.testkit.seed",
            "tidepool.transfers"),
        Set.of(
            "TIDEPOOL_CUDA_CACHE",
            "TIDEPOOL_CUDA_LIBRARY",
            "TIDEPOOL_CUDA_MANAGED",
            "TIDEPOOL_CUDA_MEMORY",
            "TIDEPOOL_CUDA_VMM",
            "TIDEPOOL_HOME",
            "TIDEPOOL_JAVA_OPTS",
            "TIDEPOOL_METAL_LIBRARY",
            "TIDEPOOL_METAL_STORAGE",
            "TIDEPOOL_NVRTC",
            "TIDEPOOL_OPENCL_LIBRARY",
            "TIDEPOOL_OPENCL_SVM",
            "TIDEPOOL_OPENCL_SHAREDMEMORY"));
    assertThat(log.all()).isEmpty();
  }
}

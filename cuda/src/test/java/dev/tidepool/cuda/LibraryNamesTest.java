package dev.tidepool.cuda;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.host.system.OperatingSystem;
import dev.tidepool.spi.support.NativeLibrary;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What the driver's library is called on each system. */
class LibraryNamesTest {
  @ParameterizedTest
  @CsvSource({"LINUX, libcuda.so.1", "OTHER, libcuda.so.1", "WINDOWS, nvcuda.dll"})
  void theDriverIsLookedForByTheNameThatTheSystemHasForIt(OperatingSystem system, String name) {
    assertThat(Installed.usualNames(system)).first().isEqualTo(name);
  }

  @Test
  void onMacOsNothingIsLookedForAndTheNoteSaysWhy() {
    NativeLibrary library =
        NativeLibrary.open(
            "CUDA driver library",
            Installed.usualNames(OperatingSystem.MACOS),
            Installed.advice(OperatingSystem.MACOS));
    assertThat(library.isPresent()).isFalse();
    assertThat(library.absence())
        .isEqualTo("no CUDA driver library; NVIDIA has no driver for macOS");
  }
}

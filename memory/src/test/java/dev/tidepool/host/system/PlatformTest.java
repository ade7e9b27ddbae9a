package dev.tidepool.host.system;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The choice of the platform, and of what it lets a process do. */
class PlatformTest {
  @ParameterizedTest
  @CsvSource({
    "Linux, amd64, LINUX",
    "linux, ppc64le, LINUX",
    "Mac OS X, aarch64, MACOS",
    "macOS, x86_64, MACOS",
    "Windows 11, amd64, WINDOWS",
    "Windows Server 2025, aarch64, WINDOWS",
    "FreeBSD, amd64, OTHER",
    "'', '', OTHER"
  })
  void theSystemIsChosenByTheNameThatJavaHasForIt(
      String name, String architecture, OperatingSystem system) {
    assertThat(Platform.of(name, architecture).system()).isEqualTo(system);
  }

  @ParameterizedTest
  @CsvSource({
    "Linux, amd64, true, true, true",
    "Linux, aarch64, true, true, true",
    "Linux, s390x, true, true, false",
    // Its flags are others, and no table has them.
    "Linux, ppc64le, false, false, false",
    "Mac OS X, aarch64, true, false, false",
    "Windows 11, amd64, false, false, false",
    "FreeBSD, amd64, false, false, false"
  })
  void whatAPlatformLacksIsEmpty(
      String name, String architecture, boolean mapping, boolean hugePages, boolean numa) {
    Platform platform = Platform.of(name, architecture);
    assertThat(platform.mapping().isPresent()).isEqualTo(mapping);
    assertThat(platform.locking().isPresent()).isEqualTo(mapping);
    assertThat(platform.hugePages().isPresent()).isEqualTo(hugePages);
    assertThat(platform.files().isPresent()).isEqualTo(hugePages);
    assertThat(platform.numa().isPresent()).isEqualTo(numa);
  }

  @ParameterizedTest
  @CsvSource({
    "Linux, amd64",
    "Linux, aarch64",
    "Linux, ppc64le",
    "Mac OS X, aarch64",
    "Windows 11, amd64",
    "FreeBSD, amd64"
  })
  void whereNoFunctionIsFoundNoGroupIsThere(String name, String architecture) {
    assertThat(FunctionGroups.of(Platform.of(name, architecture), _ -> false))
        .isEqualTo(new FunctionGroups(false, false, false, false, false, false, false));
  }

  @Test
  void aFunctionThatThePlatformHasNoNumbersForIsNotUsed() {
    assertThat(FunctionGroups.of(Platform.of("Linux", "amd64"), _ -> true))
        .isEqualTo(new FunctionGroups(true, true, true, true, true, true, true));
    assertThat(FunctionGroups.of(Platform.of("Mac OS X", "aarch64"), _ -> true))
        .isEqualTo(new FunctionGroups(true, true, true, true, false, false, false));
    assertThat(FunctionGroups.of(Platform.of("Windows 11", "amd64"), _ -> true))
        .isEqualTo(new FunctionGroups(true, false, false, true, false, false, false));
  }

  @Test
  void aGroupNeedsEachOfItsFunctions() {
    Platform linux = Platform.of("Linux", "amd64");
    for (String missing : Set.of("mmap", "munmap", "mprotect", "madvise")) {
      assertThat(FunctionGroups.of(linux, name -> !name.equals(missing)).mapping()).isFalse();
    }
    for (String missing : Set.of("mlock", "munlock")) {
      assertThat(FunctionGroups.of(linux, name -> !name.equals(missing)).locking()).isFalse();
    }
    assertThat(FunctionGroups.of(linux, name -> !name.equals("free")).aligned()).isFalse();
  }

  @Test
  void windowsAllocatesAlignedMemoryByFunctionsOfItsOwn() {
    assertThat(Platform.of("Windows 11", "amd64").aligned())
        .isEqualTo(new Platform.Aligned("_aligned_malloc", "_aligned_free", true));
    assertThat(Platform.of("Mac OS X", "aarch64").aligned())
        .isEqualTo(new Platform.Aligned("aligned_alloc", "free", false));
  }
}

package dev.tidepool.host;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.TransferException;
import dev.tidepool.host.system.OperatingSystem;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Where shared files are. */
final class SharedFolderTest {
  @TempDir Path parent;

  @Test
  @EnabledOnOs(OS.LINUX)
  void withoutAChoiceItIsTheUsersOwnInMemory() throws Exception {
    Object user = Files.getAttribute(Files.createFile(parent.resolve("mine")), "unix:uid");
    Path shm = Path.of("/dev/shm");
    Path expected =
        Files.isWritable(shm) ? shm : Path.of(System.getProperty("java.io.tmpdir")).toRealPath();
    SharedFolder folder = SharedFolder.of(Optional.empty());
    assertThat(folder.path()).isEqualTo(expected.resolve("tidepool-" + user));
    assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(folder.path())))
        .isEqualTo("rwx------");
    assertThat(SharedFolder.describe()).contains(folder.path() + ", for this user only");
  }

  @Test
  @EnabledOnOs({OS.LINUX, OS.MAC})
  void oneThatIsThereIsTakenAsItIs() throws Exception {
    Path chosen = Files.createDirectory(parent.resolve("chosen"));
    Files.setPosixFilePermissions(chosen, PosixFilePermissions.fromString("rwxr-x---"));
    assertThat(SharedFolder.of(Optional.of(chosen)).path()).isEqualTo(chosen.toRealPath());
    assertThat(
            PosixFilePermissions.toString(
                Files.getPosixFilePermissions(chosen, LinkOption.NOFOLLOW_LINKS)))
        .isEqualTo("rwxr-x---");
  }

  @ParameterizedTest
  @EnumSource(OperatingSystem.class)
  void namesThatDifferInCaseAreTwoFilesOnEveryFileSystem(OperatingSystem system) {
    List<String> names = List.of("data", "Data", "dAta", "DATA", "DATa", "x1", "X1", "1X");
    List<String> files = names.stream().map(name -> SharedFolder.fileName(name, system)).toList();
    assertThat(files).doesNotHaveDuplicates();
    if (system == OperatingSystem.MACOS || system == OperatingSystem.WINDOWS) {
      assertThat(files.stream().map(file -> file.toLowerCase(Locale.ROOT)))
          .doesNotHaveDuplicates()
          .contains("data", "data^1", "data^f");
    } else {
      assertThat(files).isEqualTo(names);
    }
  }

  @Test
  void theLongestNameFitsIntoAFilesName() {
    String longest = "X".repeat(128);
    assertThat(SharedFolder.fileName(longest, OperatingSystem.MACOS) + ".shared")
        .hasSizeLessThanOrEqualTo(255);
  }

  @ParameterizedTest
  @EnabledOnOs({OS.LINUX, OS.MAC})
  @ValueSource(strings = {"rwx-w----", "rwx----w-"})
  void aFolderThatOthersMayWriteToIsRefused(String permissions) throws IOException {
    Path chosen = Files.createDirectory(parent.resolve("open"));
    Files.setPosixFilePermissions(chosen, PosixFilePermissions.fromString(permissions));
    assertThatThrownBy(() -> SharedFolder.of(Optional.of(chosen)))
        .isInstanceOf(TransferException.class)
        .hasMessageContaining("may be written by others than its owner");
  }
}

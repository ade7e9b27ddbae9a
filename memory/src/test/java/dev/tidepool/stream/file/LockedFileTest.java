package dev.tidepool.stream.file;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

class LockedFileTest {
  @TempDir Path folder;
  private Path path;

  @BeforeEach
  void name() {
    path = folder.resolve("locked");
  }

  private static void assertTaken(Path path) {
    assertThatThrownBy(() -> LockedFile.open(path))
        .isInstanceOf(IOException.class)
        .hasMessageContaining("another run works on the same result");
  }

  @Test
  void itIsForOneAtATime() throws IOException {
    try (LockedFile _ = LockedFile.open(path)) {
      assertTaken(path);
    }
    LockedFile.open(path).delete();
    assertThat(folder).isEmptyDirectory();
  }

  @Test
  void whoHasLetItGoLetsGoNoOthersLock() throws IOException {
    LockedFile first = LockedFile.open(path);
    first.close();
    try (LockedFile _ = LockedFile.open(path)) {
      first.close();
      assertTaken(path);
    }
  }

  @Test
  void anotherWayToTheFolderIsTheSameFile() throws IOException {
    Path link = Files.createSymbolicLink(folder.resolve("link"), folder);
    try (LockedFile _ = LockedFile.open(path)) {
      assertTaken(link.resolve("locked"));
    }
  }

  /** The system's list of locks; a process that closes any channel to a file loses those on it. */
  @EnabledOnOs(OS.LINUX)
  @Test
  void whoIsRefusedTakesTheLockFromNobody() throws IOException {
    try (LockedFile _ = LockedFile.open(path)) {
      assumeTrue(isLockedForTheSystem(), "the system tells its locks");
      assertTaken(path);
      assertThat(isLockedForTheSystem()).isTrue();
    }
    assertThat(isLockedForTheSystem()).isFalse();
  }

  private boolean isLockedForTheSystem() throws IOException {
    Path locks = Path.of("/proc/locks");
    String file = ":" + Files.getAttribute(path, "unix:ino") + " ";
    return Files.isReadable(locks)
        && Files.readAllLines(locks).stream().anyMatch(line -> line.contains(file));
  }

  @Test
  void whatWasDeletedBeforeItWasLockedIsNotGoneOnWith() throws IOException {
    LockedFile.Candidate late = LockedFile.Candidate.at(path);
    assertThat(late).isNotNull();
    Files.delete(path);
    assertThat(late.lock()).as("when nothing came after it").isNull();
    assertThat(late.channel().isOpen()).isFalse();

    late = LockedFile.Candidate.at(path);
    assertThat(late).isNotNull();
    Files.delete(path);
    LockedFile.open(path).close();
    assertThat(late.lock()).as("when another one came after it").isNull();
    assertThat(late.channel().isOpen()).isFalse();
  }

  @Test
  void whatStayedWhereItWasIsLocked() throws IOException {
    LockedFile.Candidate found = LockedFile.Candidate.at(path);
    assertThat(found).isNotNull();
    try (FileChannel channel = found.lock()) {
      assertThat(channel).isNotNull();
      assertThat(channel.isOpen()).isTrue();
    }
  }
}

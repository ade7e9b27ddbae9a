package dev.tidepool.stream.pipeline;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.TransferException;
import dev.tidepool.stream.chunk.ChunkScheduler.Range;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

class JournalTest {
  private static final List<Journal.Trait> WORK =
      List.of(
          new Journal.Trait("x.npy", "/data/x.npy 1234 2026-11-21T18:00:00Z"),
          new Journal.Trait("the expression", "y = x;\nz = 2*x"));
  private static final Map<String, String> NOTES = Map.of("y", "partial-y");

  @TempDir Path folder;
  private Path target;
  private Path file;

  @BeforeEach
  void names() {
    target = folder.resolve("y.npy");
    file = folder.resolve(".y.npy.tidepool-journal");
  }

  private Journal begun() {
    Journal journal = Journal.open(target);
    journal.begin(WORK, NOTES);
    return journal;
  }

  /** Notes ranges, each forced at once. */
  private static List<String> note(Journal journal, Range... ranges) {
    List<String> order = new ArrayList<>();
    for (Range range : ranges) {
      journal.written(range, () -> {});
      journal.force(() -> order.add("forced"));
    }
    return order;
  }

  @Test
  void whatWasForcedIsLeftOutNextTime() {
    try (Journal journal = begun()) {
      assertThat(note(journal, new Range(0, 1024), new Range(4096, 1024), new Range(1024, 2048)))
          .hasSize(3);
    }
    try (Journal journal = Journal.open(target)) {
      assertThat(journal.isBegun()).isTrue();
      assertThat(journal.change(WORK)).isEmpty();
      assertThat(journal.noted("y")).isEqualTo("partial-y");
      assertThat(journal.noted("z")).isEmpty();
      assertThat(journal.left(6000)).containsExactly(new Range(3072, 1024), new Range(5120, 880));
      assertThat(journal.left(5120)).containsExactly(new Range(3072, 1024));
    }
  }

  @Test
  void aRangeThatWasNotForcedCountsForNothing() {
    try (Journal journal = begun()) {
      journal.written(new Range(0, 1024), () -> {});
      assertThatThrownBy(
              () ->
                  journal.force(
                      () -> {
                        throw new IOException("the disk is gone");
                      }))
          .isInstanceOf(TransferException.class)
          .hasMessageContaining("the disk is gone");
    }
    try (Journal journal = Journal.open(target)) {
      assertThat(journal.left(2048)).containsExactly(new Range(0, 2048));
    }
  }

  @Test
  void rangesThatComeWhileOthersAreForcedWait() {
    AtomicInteger forced = new AtomicInteger();
    try (Journal journal = begun()) {
      journal.written(new Range(0, 1024), forced::incrementAndGet);
      journal.force(
          () -> {
            forced.incrementAndGet();
            journal.written(new Range(1024, 1024), () -> {});
          });
    }
    assertThat(forced).hasValue(1);
    try (Journal journal = Journal.open(target)) {
      assertThat(journal.left(2048)).containsExactly(new Range(1024, 1024));
    }
  }

  @Test
  void aLineThatACrashCutOffCountsForNothingAndNewOnesFollow() throws IOException {
    try (Journal journal = begun()) {
      assertThat(note(journal, new Range(0, 1024), new Range(1024, 1024))).hasSize(2);
    }
    byte[] bytes = Files.readAllBytes(file);
    for (int cut = 1; cut < 12; cut++) {
      Files.write(file, java.util.Arrays.copyOf(bytes, bytes.length - cut));
      try (Journal journal = Journal.open(target)) {
        assertThat(journal.left(4096)).containsExactly(new Range(1024, 3072));
        assertThat(note(journal, new Range(2048, 1024))).hasSize(1);
      }
      try (Journal journal = Journal.open(target)) {
        assertThat(journal.left(4096))
            .containsExactly(new Range(1024, 1024), new Range(3072, 1024));
      }
    }
  }

  @Test
  void aLineThatIsDamagedCountsForNothingNorDoThoseBehindIt() throws IOException {
    try (Journal journal = begun()) {
      assertThat(note(journal, new Range(0, 1024), new Range(1024, 1024), new Range(2048, 1024)))
          .hasSize(3);
    }
    String text = Files.readString(file);
    int at = text.indexOf("1024 1024");
    Files.writeString(file, text.substring(0, at) + "1024 2024" + text.substring(at + 9));
    try (Journal journal = Journal.open(target)) {
      assertThat(journal.left(4096)).containsExactly(new Range(1024, 3072));
    }
  }

  @Test
  void rangesThatOverlapCountAsFarAsTheyReach() {
    try (Journal journal = begun()) {
      assertThat(note(journal, new Range(0, 4096), new Range(0, 1024), new Range(1024, 1024)))
          .hasSize(3);
    }
    try (Journal journal = Journal.open(target)) {
      assertThat(journal.left(5000)).containsExactly(new Range(4096, 904));
    }
  }

  @Test
  void whatHasChangedIsNamed() {
    begun().close();
    try (Journal journal = Journal.open(target)) {
      assertThat(journal.change(List.of(WORK.get(0), new Journal.Trait("the expression", "y = 1"))))
          .isEqualTo("the expression has changed");
      assertThat(journal.change(List.of(WORK.get(1)))).isEqualTo("the work has changed");
    }
  }

  @Test
  void twoRunsAreNotAtTheSameResult() {
    try (Journal journal = begun()) {
      assertThat(journal.isBegun()).isFalse();
      assertThatThrownBy(() -> Journal.open(target))
          .isInstanceOf(TransferException.class)
          .hasMessageContaining("another run works on the same result");
    }
  }

  @Test
  void aLinkToAResultIsTheSameResult() throws IOException {
    Files.createFile(target);
    Path link = Files.createSymbolicLink(folder.resolve("link.npy"), target);
    try (Journal journal = begun()) {
      assertThat(journal.isBegun()).isFalse();
      assertThatThrownBy(() -> Journal.open(link))
          .isInstanceOf(TransferException.class)
          .hasMessageContaining("another run works on the same result");
    }
  }

  @EnabledOnOs({OS.LINUX, OS.MAC})
  @Test
  void itIsItsOwnersAlone() throws IOException {
    begun().close();
    assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(file)))
        .isEqualTo("rw-------");
    Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-rw-rw-"));
    assertThatThrownBy(() -> Journal.open(target)).hasMessageContaining("delete it");
    Files.delete(file);
    Path elsewhere = Files.createFile(folder.resolve("elsewhere"));
    Files.createSymbolicLink(file, elsewhere);
    assertThatThrownBy(() -> Journal.open(target)).hasMessageContaining("delete it");
    assertThat(elsewhere).isEmptyFile();
  }

  @Test
  void deletingLeavesNothing() {
    begun().delete();
    assertThat(folder).isEmptyDirectory();
  }

  @Test
  void anInterruptedThreadKeepsItsInterruptAndItsJournal() {
    Thread.currentThread().interrupt();
    try (Journal journal = begun()) {
      assertThat(note(journal, new Range(0, 1024))).hasSize(1);
    } finally {
      assertThat(Thread.interrupted()).isTrue();
    }
    Thread.currentThread().interrupt();
    try (Journal journal = Journal.open(target)) {
      assertThat(journal.left(2048)).containsExactly(new Range(1024, 1024));
    } finally {
      assertThat(Thread.interrupted()).isTrue();
    }
  }
}

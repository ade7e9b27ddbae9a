package dev.tidepool.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.Allocation;
import dev.tidepool.ElementType;
import dev.tidepool.MemoryLocation;
import dev.tidepool.MemoryOptions;
import dev.tidepool.OutOfDeviceMemoryException;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.spi.Discovery;
import dev.tidepool.testkit.simulated.SimulatedHardware;
import dev.tidepool.testkit.simulated.SimulatedProvider;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** With the option {@code dump-directory}, memory that runs out leaves a snapshot. */
class ExhaustionDumpTest {
  private static final int MEBIBYTE = 1 << 20;

  @TempDir private Path folder;
  private Tidepool tidepool;
  private UnifiedMemoryManager memory;
  private final List<UnifiedBuffer<byte[]>> held = new ArrayList<>();

  /** A device that is full of buffers that cannot be evicted. */
  @BeforeEach
  void fill() {
    SimulatedProvider simulated =
        new SimulatedProvider(
            SimulatedHardware.discrete().withMemory(4 * MEBIBYTE).withMaximumAllocation(MEBIBYTE));
    MemoryOptions options = MemoryOptions.builder().dumpDirectory(folder).build();
    tidepool = Discovery.using(List.of(simulated), () -> Tidepool.open(options));
    memory = tidepool.memory();
    Allocation unmovable = Allocation.at(MemoryLocation.UNIFIED);
    for (String tag : List.of("culprit", "other", "other", "other")) {
      held.add(memory.allocate(ElementType.BYTE, MEBIBYTE, unmovable.tag(tag)));
    }
  }

  @AfterEach
  void close() {
    held.forEach(UnifiedBuffer::close);
    tidepool.close();
  }

  private void exhaust() {
    assertThatThrownBy(
            () -> memory.allocate(ElementType.BYTE, MEBIBYTE, MemoryLocation.UNIFIED).close())
        .isInstanceOf(OutOfDeviceMemoryException.class);
  }

  private List<Path> dumps() throws IOException {
    try (Stream<Path> files = Files.list(folder)) {
      return files.toList();
    }
  }

  @Test
  void theSnapshotSaysWhyItWasTakenAndWhoHasTheMemory() throws IOException {
    exhaust();
    Path dump = dumps().getFirst();
    assertThat(dumps()).hasSize(1);
    assertThat(Files.readString(dump))
        .startsWith("{\"tidepool-snapshot\":1")
        .contains("no room for", "simulated:0", "{\"name\":\"culprit\",\"liveBytes\":1048576");
    assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(dump)))
        .isEqualTo("rw-------");
  }

  @Test
  void aProgramThatFailsAgainAndAgainDoesNotFillTheDisk() throws IOException {
    for (int i = 0; i < 10; i++) {
      exhaust();
    }
    assertThat(dumps()).hasSize(8);
  }

  @Test
  void aRequestThatNoDeviceCouldMeetIsNoExhaustion() throws IOException {
    assertThatThrownBy(() -> memory.allocate(ElementType.BYTE, 2 * MEBIBYTE))
        .isInstanceOf(OutOfDeviceMemoryException.class);
    assertThat(dumps()).isEmpty();
  }

  @Test
  void aFolderThatHasGoneChangesNothingAboutTheError() throws IOException {
    Files.delete(folder);
    exhaust();
    Files.createDirectory(folder);
    exhaust();
    assertThat(dumps()).hasSize(1);
  }
}

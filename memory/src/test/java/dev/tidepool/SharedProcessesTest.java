package dev.tidepool;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledOnOs;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

/**
 * Buffers that two processes share, one of which may be killed. The property {@code
 * tidepool.test.kills} sets how often that is, {@code tidepool.test.seed} when.
 */
@DisabledOnOs(OS.WINDOWS)
final class SharedProcessesTest {
  private static final int KILLS = Integer.getInteger("tidepool.test.kills", 8);

  @TempDir Path parent;
  private Path folder;
  private UnifiedMemoryManager memory;

  @BeforeEach
  void open() {
    // In memory where there is such a folder, as by default.
    Path shm = Path.of("/dev/shm");
    folder =
        Files.isWritable(shm)
            ? shm.resolve("tidepool-test-" + ProcessHandle.current().pid())
            : parent.resolve("shared");
    memory = UnifiedMemoryManager.create(MemoryOptions.builder().sharedDirectory(folder).build());
  }

  @AfterEach
  void nothingIsLeft() throws IOException {
    memory.close();
    // The next process that opens it sweeps what a killed one left.
    try (UnifiedMemoryManager next =
        UnifiedMemoryManager.create(MemoryOptions.builder().sharedDirectory(folder).build())) {
      assertThatThrownBy(() -> next.openShared(ElementType.INT, "none"))
          .hasCauseInstanceOf(NoSuchFileException.class);
    }
    try (Stream<Path> files = Files.list(folder)) {
      assertThat(files).isEmpty();
    }
    Files.delete(folder);
  }

  @Test
  void anotherProcessReadsAndWritesTheSameBytes() throws Exception {
    try (SharedPeer peer = SharedPeer.start("create", folder.toString())) {
      assertThat(peer.line()).isEqualTo("created");
      assertThatThrownBy(() -> memory.createShared(ElementType.INT, 1000, "peer"))
          .isInstanceOf(TransferException.class)
          .hasMessageContaining("a shared buffer that process " + peer.pid() + " created")
          .hasCauseInstanceOf(FileAlreadyExistsException.class);
      assertThatThrownBy(() -> memory.openShared(ElementType.LONG, "peer"))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("holds INT elements of 4 bytes, not LONG of 8");
      try (UnifiedBuffer<int[]> buffer = memory.openShared(ElementType.INT, "peer")) {
        int[] seen = new int[1000];
        buffer.copyTo(seen);
        for (int i = 0; i < seen.length; i++) {
          assertThat(seen[i]).isEqualTo(i);
          seen[i] = 2 * i + 1;
        }
        buffer.copyFrom(seen);
        assertThat(peer.end()).as(peer.lastLine()).isZero();
        assertThat(folder.resolve("peer.shared")).as("this process uses it").exists();
      }
      assertThat(folder.resolve("peer.shared")).doesNotExist();
    }
  }

  @Test
  void theBytesOfAKilledCreatorStayWithThoseWhoUseThem() throws Exception {
    try (SharedPeer peer = SharedPeer.start("create", folder.toString())) {
      assertThat(peer.line()).isEqualTo("created");
      try (UnifiedBuffer<int[]> buffer = memory.openShared(ElementType.INT, "peer")) {
        peer.kill();
        try (UnifiedBuffer<int[]> other = memory.createShared(ElementType.INT, 1, "sweeps")) {
          assertThat(other.length()).isEqualTo(1);
        }
        int[] seen = new int[1000];
        buffer.copyTo(seen);
        assertThat(seen[999]).isEqualTo(999);
        assertThat(folder.resolve("peer.shared")).exists();
      }
      assertThat(folder.resolve("peer.shared")).doesNotExist();
    }
  }

  @Test
  void whatOneOfSeveralUsersInAProcessDoesKeepsNobodyElseFromItsFile() throws Exception {
    try (UnifiedBuffer<int[]> buffer = memory.createShared(ElementType.INT, 10, "mine")) {
      memory.openShared(ElementType.INT, "mine").close();
      assertThatThrownBy(() -> memory.openShared(ElementType.LONG, "mine"))
          .isInstanceOf(IllegalArgumentException.class);
      assertThatThrownBy(() -> memory.createShared(ElementType.INT, 10, "mine"))
          .isInstanceOf(TransferException.class);
      Thread.currentThread().interrupt();
      memory.openShared(ElementType.INT, "mine").close();
      assertThat(Thread.interrupted()).isTrue();
      memory.createShared(ElementType.INT, 10, "sweeps").close();
      try (SharedPeer peer = SharedPeer.start("create", folder.toString())) {
        assertThat(peer.line()).as("another process has swept").isEqualTo("created");
        assertThat(folder.resolve("mine.shared")).exists();
      }
      buffer.copyFrom(new int[10]);
    }
    assertThat(folder.resolve("mine.shared")).doesNotExist();
  }

  @Test
  void whatAKilledProcessLeftIsNotFoundAndItsNameIsFree() throws Exception {
    try (SharedPeer peer = SharedPeer.start("create", folder.toString())) {
      assertThat(peer.line()).isEqualTo("created");
      peer.kill();
    }
    assertThat(folder.resolve("peer.shared")).exists();
    assertThatThrownBy(() -> memory.openShared(ElementType.INT, "peer"))
        .hasCauseInstanceOf(NoSuchFileException.class);
    memory.createShared(ElementType.LONG, 5, "peer").close();
  }

  @Test
  void aProcessThatEndsWithoutClosingLeavesNoFile() throws Exception {
    try (SharedPeer exits = SharedPeer.start("forget", folder.toString());
        SharedPeer terminated = SharedPeer.start("exchange", folder.toString())) {
      assertThat(exits.line()).isEqualTo("forgot 1000");
      assertThat(exits.end()).isEqualTo(7);
      await().until(() -> Files.exists(folder.resolve("meeting.shared")));
      terminated.terminate();
    }
    try (Stream<Path> files = Files.list(folder)) {
      assertThat(files).isEmpty();
    }
  }

  @Test
  void processesThatAreKilledAtRandomHarmNobodyAndLeaveNothing() throws Exception {
    long seed = Long.getLong("tidepool.test.seed", System.nanoTime());
    System.out.println("SharedProcessesTest: -Dtidepool.test.seed=" + seed);
    Random random = new Random(seed);
    SharedPeer[] peers = {
      SharedPeer.start("exchange", folder.toString()),
      SharedPeer.start("exchange", folder.toString())
    };
    try {
      for (SharedPeer peer : peers) {
        assertThat(peer.line()).isEqualTo("met");
      }
      for (int kill = 0; kill < KILLS; kill++) {
        Thread.sleep(random.nextInt(50));
        int victim = random.nextInt(2);
        assertThat(peers[victim].isAlive()).as("kill %d", kill).isTrue();
        peers[victim].kill();
        assertThat(peers[1 - victim].isAlive()).as("kill %d", kill).isTrue();
        peers[victim] = SharedPeer.start("exchange", folder.toString());
        assertThat(peers[victim].line()).isEqualTo("met");
      }
      long messages = 0;
      for (SharedPeer peer : peers) {
        int status = peer.end();
        String last = peer.lastLine();
        assertThat(status).as(last).isZero();
        assertThat(last).endsWith(" messages");
        messages += Long.parseLong(last.split(" ", 2)[0]);
      }
      assertThat(messages).isPositive();
    } finally {
      for (SharedPeer peer : peers) {
        peer.close();
      }
    }
  }

  @Test
  @EnabledOnOs(OS.LINUX)
  void aFileThatIsShortenedDuringCopiesNeverEndsTheProcess() throws Exception {
    try (SharedPeer peer = SharedPeer.start("copy", folder.toString())) {
      assertThat(peer.line()).isEqualTo("ready");
      try (RandomAccessFile file =
          new RandomAccessFile(folder.resolve("vanishing.shared").toFile(), "rw")) {
        long whole = file.length();
        for (int i = 0; i < 400; i++) {
          file.setLength(i % 3 == 0 ? 0 : whole / 2 + 1000L * i);
          Thread.sleep(1);
          file.setLength(whole);
          Thread.sleep(1);
        }
      }
      int status = peer.end();
      String last = peer.lastLine();
      assertThat(status).as(last).isZero();
      assertThat(last).matches("[1-9][0-9]* failed, [1-9][0-9]* done");
    }
  }
}

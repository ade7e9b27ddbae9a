package dev.tidepool;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** With the option {@code trace}, every allocation and every free is written down in order. */
final class AllocationTraceTest {
  @RegisterExtension final LogLines log = new LogLines();

  @TempDir private Path folder;

  private static UnifiedMemoryManager recording(Path file) {
    return UnifiedMemoryManager.create(MemoryOptions.builder().trace(file).build());
  }

  /** The lines, with buffers numbered from 0 in the order of their allocation. */
  private static List<String> renumbered(Path file) throws IOException {
    Map<String, Integer> numbers = new HashMap<>();
    return Files.readAllLines(file).stream()
        .map(
            line -> {
              String[] words = line.split(" ");
              if (words[0].equals("+") || words[0].equals("-")) {
                words[1] = Integer.toString(numbers.computeIfAbsent(words[1], _ -> numbers.size()));
              }
              return String.join(" ", words);
            })
        .toList();
  }

  @Test
  void allocationsAndFreesStandInTheFileInTheirOrder() throws IOException {
    Path file = folder.resolve("trace");
    try (UnifiedMemoryManager memory = recording(file)) {
      UnifiedBuffer<float[]> first = memory.allocate(ElementType.FLOAT, 1000);
      UnifiedBuffer<byte[]> second = memory.allocate(ElementType.BYTE, 0, MemoryLocation.HOST);
      first.close();
      first.close();
      memory.allocate(ElementType.BYTE, 7, Allocation.at(MemoryLocation.PINNED).unpooled());
      second.close();
      // The third is left to the manager.
    }
    assertThat(renumbered(file))
        .containsExactly(
            "tidepool-trace 1",
            "+ 0 4000 DEVICE",
            "+ 1 0 HOST",
            "- 0",
            "+ 2 7 PINNED",
            "- 1",
            "- 2");
  }

  @Test
  void memoryThatTheManagerDidNotAllocateIsLeftOut() throws IOException {
    Path file = folder.resolve("trace");
    try (Arena arena = Arena.ofShared();
        UnifiedMemoryManager memory = recording(file)) {
      memory.wrap(ElementType.BYTE, arena.allocate(100)).close();
    }
    assertThat(Files.readAllLines(file)).containsExactly("tidepool-trace 1");
  }

  @Test
  void everyLineOfManyThreadsIsWholeAndEveryFreeComesAfterItsAllocation() throws Exception {
    int threads = 4;
    int each = 2000;
    Path file = folder.resolve("trace");
    try (UnifiedMemoryManager memory = recording(file)) {
      CountDownLatch start = new CountDownLatch(threads);
      List<Thread> workers =
          IntStream.range(0, threads)
              .mapToObj(
                  _ ->
                      Thread.ofPlatform()
                          .start(
                              () -> {
                                start.countDown();
                                for (int i = 0; i < each; i++) {
                                  memory.allocate(ElementType.BYTE, 1 + i).close();
                                }
                              }))
              .toList();
      for (Thread worker : workers) {
        worker.join();
      }
    }
    List<String> lines = Files.readAllLines(file);
    assertThat(lines).hasSize(1 + 2 * threads * each);
    Map<String, Boolean> open = new HashMap<>();
    for (String line : lines.subList(1, lines.size())) {
      String[] words = line.split(" ");
      if (words[0].equals("+")) {
        assertThat(words).hasSize(4);
        assertThat(open.put(words[1], true)).as(line).isNull();
      } else {
        assertThat(words).hasSize(2);
        assertThat(open.put(words[1], false)).as(line).isTrue();
      }
    }
    assertThat(open.values()).containsOnly(false);
  }

  @Test
  void theFileIsReadableForItsOwnerOnlyAndReplacesAnOldOne() throws IOException {
    Path file = folder.resolve("trace");
    Files.writeString(file, "what was there before");
    Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-rw-rw-"));
    recording(file).close();
    assertThat(Files.readAllLines(file)).containsExactly("tidepool-trace 1");
    assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(file)))
        .isEqualTo("rw-------");
  }

  @Test
  void theManagersOfOneTidepoolShareAFileAndAnotherTidepoolHasItsOwn() throws IOException {
    Path file = folder.resolve("trace");
    MemoryOptions options = MemoryOptions.builder().trace(file).build();
    try (Tidepool first = Tidepool.open(options);
        Tidepool second = Tidepool.open(options)) {
      first.memory().allocate(ElementType.BYTE, 1).close();
      try (UnifiedMemoryManager further =
          UnifiedMemoryManager.create(first.accelerators().getLast(), options)) {
        further.allocate(ElementType.BYTE, 2).close();
      }
      second.memory().allocate(ElementType.BYTE, 3).close();
    }
    assertThat(renumbered(file))
        .containsExactly("tidepool-trace 1", "+ 0 1 DEVICE", "- 0", "+ 1 2 DEVICE", "- 1");
    assertThat(renumbered(folder.resolve("trace.2")))
        .containsExactly("tidepool-trace 1", "+ 0 3 DEVICE", "- 0");
  }

  @Test
  void whatHasHappenedIsWrittenWhileTheProgramGoesOn() {
    Path file = folder.resolve("trace");
    try (UnifiedMemoryManager memory = recording(file);
        UnifiedBuffer<byte[]> buffer = memory.allocate(ElementType.BYTE, 5)) {
      await()
          .atMost(Duration.ofSeconds(20))
          .until(() -> Files.readAllLines(file).getLast().endsWith(" 5 DEVICE"));
      assertThat(buffer.length()).isEqualTo(5);
    }
  }

  @Test
  void anInterruptOfTheThreadThatClosesLosesNothing() throws IOException {
    Path file = folder.resolve("trace");
    UnifiedMemoryManager memory = recording(file);
    memory.allocate(ElementType.BYTE, 5).close();
    Thread.currentThread().interrupt();
    memory.close();
    assertThat(Thread.interrupted()).isTrue();
    assertThat(renumbered(file)).containsExactly("tidepool-trace 1", "+ 0 5 DEVICE", "- 0");
  }

  @Test
  void aFileThatCannotBeWrittenIsOneClearErrorAtTheStart() {
    Path file = folder.resolve("nowhere").resolve("trace");
    assertThatThrownBy(() -> recording(file))
        .isInstanceOf(TransferException.class)
        .hasMessage(
            "cannot write the trace " + file + ": no such file or folder; name another file");
    assertThatThrownBy(() -> recording(folder))
        .isInstanceOf(TransferException.class)
        .hasMessageContaining("cannot write the trace " + folder);
  }

  @Test
  void aDiskThatIsFullIsOneClearErrorAtTheStart() {
    Path full = Path.of("/dev/full");
    assumeTrue(Files.exists(full), "every write to it fails");
    assertThatThrownBy(() -> recording(full))
        .isInstanceOf(TransferException.class)
        .hasMessageContaining("No space left");
  }

  @Test
  void aFailureLaterIsReportedOnceAndTheProgramGoesOn() throws Exception {
    Path pipe = folder.resolve("pipe");
    assertThat(new ProcessBuilder("mkfifo", pipe.toString()).start().waitFor()).isZero();
    Process reader = new ProcessBuilder("head", "-n", "1", pipe.toString()).start();
    try (UnifiedMemoryManager memory = recording(pipe)) {
      assertThat(reader.waitFor()).isZero();
      memory.allocate(ElementType.BYTE, 1).close();
      await().atMost(Duration.ofSeconds(20)).until(() -> !log.all().isEmpty());
      try (UnifiedBuffer<byte[]> buffer = memory.allocate(ElementType.BYTE, 1)) {
        assertThat(buffer.length()).isEqualTo(1);
      }
    }
    assertThat(log.all())
        .singleElement()
        .isEqualTo("the trace " + pipe + " ends here because it cannot be written: Broken pipe");
  }
}

package dev.tidepool;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assumptions.assumeThat;
import static org.awaitility.Awaitility.await;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandles;
import java.nio.ByteBuffer;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Buffers that are found by a name: what holds within one process. */
final class SharedBufferTest {
  private static final int GRANULE = 4096;

  record Point(int x, double y) {}

  @TempDir Path parent;
  private Path folder;
  private UnifiedMemoryManager memory;

  @BeforeEach
  void open() {
    folder = parent.resolve("shared");
    memory = manager(folder);
  }

  @AfterEach
  void close() {
    memory.close();
    assertThat(memory.statistics().activeBuffers()).isZero();
    assertThat(memory.statistics().totalAllocated()).isZero();
  }

  private static UnifiedMemoryManager manager(Path folder) {
    return UnifiedMemoryManager.create(MemoryOptions.builder().sharedDirectory(folder).build());
  }

  private List<Path> files() throws IOException {
    try (Stream<Path> files = Files.list(folder)) {
      return files.toList();
    }
  }

  private Path file(String name) {
    return folder.resolve(name + ".shared");
  }

  @Test
  void aNewBufferIsAllZeroOnTheHostAndNamedByItsTag() throws IOException {
    try (UnifiedBuffer<long[]> buffer = memory.createShared(ElementType.LONG, 3000, "zeros")) {
      assertThat(buffer.location()).isEqualTo(MemoryLocation.HOST);
      long[] seen = new long[3000];
      seen[7] = 7;
      buffer.copyTo(seen);
      assertThat(seen).containsOnly(0);
      assertThat(buffer.asSegment().address() % GRANULE).isZero();
      assertThat(memory.buffers().getFirst().tag()).isEqualTo("zeros");
      assertThat(memory.statistics().totalAllocated()).isEqualTo(24_000);
    }
    assertThat(files()).isEmpty();
  }

  @Test
  void whatOneWritesAnotherReadsThroughItsOwnManager() throws IOException {
    try (UnifiedMemoryManager other = manager(folder);
        UnifiedBuffer<float[]> written = memory.createShared(ElementType.FLOAT, 1000, "a.b-c_1");
        UnifiedBuffer<float[]> read = other.openShared(ElementType.FLOAT, "a.b-c_1")) {
      assertThat(read.length()).isEqualTo(1000);
      float[] pattern = pattern(1000);
      written.copyFrom(pattern);
      float[] seen = new float[1000];
      read.copyTo(seen);
      assertThat(seen).isEqualTo(pattern);
      read.asSegment().setAtIndex(ValueLayout.JAVA_FLOAT, 999, -1);
      assertThat(written.asReadOnlySegment().getAtIndex(ValueLayout.JAVA_FLOAT, 999))
          .isEqualTo(-1f);
    }
    assertThat(files()).isEmpty();
  }

  @Test
  void kernelsComputeOnSharedBytes() {
    try (UnifiedBuffer<float[]> x = memory.createShared(ElementType.FLOAT, 100_000, "x");
        UnifiedBuffer<float[]> same = memory.openShared(ElementType.FLOAT, "x")) {
      float[] pattern = pattern(100_000);
      x.copyFrom(pattern);
      memory.compile(KernelSource.elementwise("x = 2 * x + 1")).execute(Arguments.of("x", x));
      memory.synchronize();
      float[] seen = new float[100_000];
      x.copyTo(seen);
      assertThat(seen[99_999]).isEqualTo(2 * pattern[99_999] + 1);
      if (memory.accelerator().capabilities().contains(Capability.SHARED_MEMORY)) {
        same.copyTo(seen);
        assertThat(seen[99_999]).isEqualTo(2 * pattern[99_999] + 1);
      }
    }
  }

  @Test
  void structsAndBuffersOfNoElementsAreShared() {
    ElementType<Point[]> type = ElementType.struct(Point.class, MethodHandles.lookup());
    try (UnifiedBuffer<Point[]> points = memory.createShared(type, 2, "points");
        UnifiedBuffer<Point[]> same = memory.openShared(type, "points");
        UnifiedBuffer<int[]> none = memory.createShared(ElementType.INT, 0, "none");
        UnifiedBuffer<int[]> alsoNone = memory.openShared(ElementType.INT, "none")) {
      points.copyFrom(new Point[] {new Point(1, 2), new Point(3, 4)});
      Point[] seen = new Point[2];
      same.copyTo(seen);
      assertThat(seen).containsExactly(new Point(1, 2), new Point(3, 4));
      none.copyFrom(new int[0]);
      assertThat(alsoNone.length()).isZero();
    }
  }

  @Test
  void theFileLivesUntilTheLastUserCloses() throws IOException {
    UnifiedBuffer<int[]> first = memory.createShared(ElementType.INT, 10, "n");
    UnifiedBuffer<int[]> second = memory.openShared(ElementType.INT, "n");
    first.copyFrom(new int[] {5});
    first.close();
    assertThat(files()).containsExactly(file("n").toRealPath());
    try (UnifiedBuffer<int[]> third = memory.openShared(ElementType.INT, "n")) {
      int[] seen = new int[10];
      third.copyTo(seen);
      assertThat(seen[0]).isEqualTo(5);
    }
    second.close();
    assertThat(files()).isEmpty();
    assertMissing("n");
    memory.createShared(ElementType.INT, 20, "n").close();
  }

  @Test
  void aManagerThatClosesLeavesNoFile() throws IOException {
    UnifiedMemoryManager other = manager(folder);
    other.createShared(ElementType.INT, 10, "n");
    other.close();
    assertThat(files()).isEmpty();
  }

  @Test
  void aSegmentOfAClosedBufferFails() {
    UnifiedBuffer<int[]> buffer = memory.createShared(ElementType.INT, 10, "n");
    MemorySegment segment = buffer.asSegment();
    buffer.close();
    assertThatThrownBy(() -> segment.get(ValueLayout.JAVA_INT, 0))
        .isInstanceOf(IllegalStateException.class);
    assertThatThrownBy(() -> buffer.copyFrom(new int[1]))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("'n'");
  }

  @Test
  @EnabledOnOs({OS.LINUX, OS.MAC})
  void folderAndFileAreTheirOwnersOnly() throws IOException {
    try (UnifiedBuffer<int[]> buffer = memory.createShared(ElementType.INT, 10, "n")) {
      assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(folder)))
          .isEqualTo("rwx------");
      assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(file("n"))))
          .isEqualTo("rw-------");
      assertThat(buffer.length()).isEqualTo(10);
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "/",
        "a/b",
        "../a",
        "a..b",
        "..",
        "a\\b",
        "a b",
        "é",
        "a\u0000b",
        "new~1",
        "a\n"
      })
  void aNameThatCouldLeaveItsFolderIsRefused(String name) {
    assertThatThrownBy(() -> memory.createShared(ElementType.INT, 10, name))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("'" + name + "' cannot name a shared buffer");
    assertThatThrownBy(() -> memory.openShared(ElementType.INT, name))
        .isInstanceOf(IllegalArgumentException.class);
  }

  @Test
  void aNameHas128LettersAtMost() {
    memory.createShared(ElementType.INT, 1, "n".repeat(128)).close();
    assertThatThrownBy(() -> memory.createShared(ElementType.INT, 1, "n".repeat(129)))
        .isInstanceOf(IllegalArgumentException.class);
  }

  @Test
  void aNegativeOrTooLargeLengthIsRefused() throws IOException {
    assertThatThrownBy(() -> memory.createShared(ElementType.INT, -1, "n"))
        .isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> memory.createShared(ElementType.BYTE, Long.MAX_VALUE - 1, "n"))
        .isInstanceOf(IllegalArgumentException.class);
    assertThat(files()).isEmpty();
  }

  @Test
  void moreThanTheFolderHasRoomForIsOutOfMemoryThatNamesIt() throws IOException {
    long tooMany = folder.toFile().getParentFile().getTotalSpace() + (1L << 40);
    assertThatThrownBy(() -> memory.createShared(ElementType.BYTE, tooMany, "n"))
        .isInstanceOfSatisfying(
            OutOfDeviceMemoryException.class,
            e -> assertThat(e.requestedBytes()).isBetween(tooMany, tooMany + GRANULE))
        .hasMessageContaining(folder.toRealPath().toString());
    assertThat(files()).isEmpty();
  }

  @Test
  @EnabledOnOs(OS.LINUX)
  void itsRoomIsTakenWhenItIsCreatedAndNotWhenItIsTouched() throws IOException {
    try (UnifiedBuffer<byte[]> buffer = memory.createShared(ElementType.BYTE, 3 << 20, "room")) {
      Process stat = new ProcessBuilder("stat", "-c", "%b", file("room").toString()).start();
      long sectors =
          Long.parseLong(new String(stat.getInputStream().readAllBytes(), UTF_8).strip());
      assertThat(512 * sectors).isGreaterThanOrEqualTo(buffer.byteSize());
    }
  }

  @Test
  void aNameInUseCannotBeCreatedAgainAndStaysAsItIs() {
    try (UnifiedBuffer<int[]> buffer = memory.createShared(ElementType.INT, 10, "n")) {
      buffer.copyFrom(new int[] {5});
      assertThatThrownBy(() -> memory.createShared(ElementType.INT, 20, "n"))
          .isInstanceOf(TransferException.class)
          .hasMessageContaining("is taken by a shared buffer of this process")
          .hasCauseInstanceOf(FileAlreadyExistsException.class);
      int[] seen = new int[10];
      buffer.copyTo(seen);
      assertThat(seen[0]).isEqualTo(5);
      assertThat(memory.statistics().activeBuffers()).isEqualTo(1);
    }
  }

  @Test
  void anotherTypeIsRefusedByItsNameItsSizeOrItsMembers() {
    try (UnifiedBuffer<int[]> ints = memory.createShared(ElementType.INT, 10, "ints");
        UnifiedBuffer<Point[]> points =
            memory.createShared(
                ElementType.struct(Point.class, MethodHandles.lookup()), 10, "points")) {
      assertThatThrownBy(() -> memory.openShared(ElementType.FLOAT, "ints"))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("holds INT elements of 4 bytes, not FLOAT of 4");
      assertThatThrownBy(() -> memory.openShared(ElementType.UNSIGNED_INT, "ints"))
          .isInstanceOf(IllegalArgumentException.class);
      assertThatThrownBy(() -> memory.openShared(Other.TYPE, "points"))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("struct Point {int x; padding 4; double y}")
          .hasMessageContaining("struct Point {int x; int y; double z}");
      assertThat(ints.length()).isEqualTo(points.length());
      assertThat(memory.statistics().activeBuffers()).isEqualTo(2);
    }
  }

  /** A place for another record of the same name. */
  static final class Other {
    record Point(int x, int y, double z) {}

    static final ElementType<Point[]> TYPE =
        ElementType.struct(Point.class, MethodHandles.lookup());

    private Other() {}
  }

  @Test
  void whatNobodyCreatedCannotBeOpened() {
    assertMissing("never");
  }

  private void assertMissing(String name) {
    assertThatThrownBy(() -> memory.openShared(ElementType.INT, name))
        .isInstanceOf(TransferException.class)
        .hasMessageContaining("there is no shared buffer")
        .hasCauseInstanceOf(NoSuchFileException.class);
  }

  @Test
  void aFileWhoseLocksAreFreeIsSweptAtTheNextCreateOrOpenOfAnyName() throws IOException {
    byte[] left = leftBehind("dead", ElementType.INT);
    Files.write(file("new~half-made"), new byte[0]);
    assertMissing("other");
    assertThat(files()).isEmpty();

    Files.write(file("dead"), left);
    memory.createShared(ElementType.INT, 1, "other").close();
    assertThat(files()).isEmpty();

    Files.write(file("dead"), left);
    assertMissing("dead");
    assertThat(files()).isEmpty();

    Files.write(file("dead"), left);
    try (UnifiedBuffer<byte[]> created = memory.createShared(ElementType.BYTE, 4, "dead")) {
      assertThat(created.length()).isEqualTo(4);
    }
  }

  /** The bytes of a shared file that a killed process would leave. */
  private byte[] leftBehind(String name, ElementType<?> type) throws IOException {
    byte[] bytes;
    try (UnifiedBuffer<?> buffer = memory.createShared(type, 10, name)) {
      buffer.fill((byte) 1);
      // Another channel to the file would give up its lock, so its bytes are not read through one.
      Process copy = new ProcessBuilder("cat", file(name).toString()).start();
      bytes = copy.getInputStream().readAllBytes();
    }
    assertThat(bytes).hasSize(GRANULE + 40);
    return bytes;
  }

  @Test
  void filesThatTidepoolDidNotMakeAreNeitherOpenedNorReplacedNorSwept() throws IOException {
    memory.createShared(ElementType.INT, 1, "makes-the-folder").close();
    Files.writeString(file("notes"), "a file of somebody else's");
    Files.writeString(folder.resolve("readme.txt"), "another");
    assertThatThrownBy(() -> memory.openShared(ElementType.INT, "notes"))
        .isInstanceOf(TransferException.class)
        .hasMessageContaining("that Tidepool did not make");
    assertThatThrownBy(() -> memory.createShared(ElementType.INT, 1, "notes"))
        .isInstanceOf(TransferException.class)
        .hasMessageContaining("that Tidepool did not make");
    assertThat(file("notes")).hasContent("a file of somebody else's");
    assertThat(folder.resolve("readme.txt")).hasContent("another");
  }

  @Test
  void aPlantedLinkLeadsNowhere() throws IOException {
    memory.createShared(ElementType.INT, 1, "makes-the-folder").close();
    Path target = Files.writeString(parent.resolve("precious"), "precious");
    Files.createSymbolicLink(file("link"), target);
    assertThatThrownBy(() -> memory.openShared(ElementType.INT, "link"))
        .isInstanceOf(TransferException.class)
        .hasMessageContaining("is no plain file, or a link to one");
    assertThatThrownBy(() -> memory.createShared(ElementType.INT, 1000, "link"))
        .isInstanceOf(TransferException.class);
    assertThat(target).hasContent("precious");

    Path dangling = parent.resolve("nothing");
    Files.createSymbolicLink(file("dangling"), dangling);
    assertThatThrownBy(() -> memory.createShared(ElementType.INT, 1000, "dangling"))
        .isInstanceOf(TransferException.class);
    assertThat(dangling).doesNotExist();
  }

  @Test
  void aFolderThatIsALinkIsRefused() throws IOException {
    Path real = Files.createDirectory(parent.resolve("real"));
    Files.createSymbolicLink(folder, real);
    assertThatThrownBy(() -> memory.createShared(ElementType.INT, 1, "n"))
        .isInstanceOf(TransferException.class)
        .hasMessageContaining("is no folder, or a link to one")
        .hasMessageContaining("shared-directory");
    assertThat(real).isEmptyDirectory();
  }

  @ParameterizedTest
  @ValueSource(strings = {"rwxrwx---", "rwx----w-", "rwxrwxrwx"})
  @EnabledOnOs({OS.LINUX, OS.MAC})
  void aFolderThatOthersMayWriteToIsRefused(String permissions) throws IOException {
    Files.createDirectory(folder);
    Files.setPosixFilePermissions(folder, PosixFilePermissions.fromString(permissions));
    assertThatThrownBy(() -> memory.createShared(ElementType.INT, 1, "n"))
        .isInstanceOf(TransferException.class)
        .hasMessageContaining("may be written by others than its owner");
    assertThat(files()).isEmpty();
  }

  @Test
  @EnabledOnOs({OS.LINUX, OS.MAC})
  void aFolderOrFileOfAnotherUserIsRefused() throws IOException {
    assumeThat(Files.getAttribute(parent, "unix:uid")).as("run as root").isEqualTo(0);
    byte[] left = leftBehind("theirs", ElementType.INT);
    Files.write(file("theirs"), left);
    Files.setAttribute(file("theirs"), "unix:uid", 65534);
    assertThatThrownBy(() -> memory.openShared(ElementType.INT, "theirs"))
        .isInstanceOf(TransferException.class)
        .hasMessageContaining("belongs to user 65534, not to 0");
    assertThatThrownBy(() -> memory.createShared(ElementType.INT, 1, "theirs"))
        .isInstanceOf(TransferException.class);
    assertThat(file("theirs")).hasBinaryContent(left);
    Files.setAttribute(folder, "unix:uid", 65534);
    assertThatThrownBy(() -> memory.createShared(ElementType.INT, 1, "n"))
        .isInstanceOf(TransferException.class)
        .hasMessageContaining("belongs to user 65534, not to 0");
  }

  @Test
  void aFolderWithoutAParentCannotBeMade() {
    try (UnifiedMemoryManager other = manager(parent.resolve("none").resolve("shared"))) {
      assertThatThrownBy(() -> other.createShared(ElementType.INT, 1, "n"))
          .isInstanceOf(TransferException.class)
          .hasMessageContaining("shared-directory");
    }
  }

  @Test
  void aBufferWhoseFileWasShortenedFailsWithATransferExceptionAndCloses() throws IOException {
    UnifiedBuffer<int[]> buffer = memory.createShared(ElementType.INT, 100_000, "short");
    new ProcessBuilder("truncate", "-s", "0", file("short").toString()).start().onExit().join();
    assertThatThrownBy(() -> buffer.copyTo(new int[100_000]))
        .isInstanceOf(TransferException.class)
        .hasMessageContaining("became shorter");
    assertThatThrownBy(() -> buffer.fill((byte) 1)).isInstanceOf(TransferException.class);
    buffer.close();
    assertThat(files()).isEmpty();
  }

  @Test
  void manyThreadsCreateOpenAndCloseTheSameNamesAndNothingIsLeft() throws Exception {
    int rounds = 300;
    try (ExecutorService threads = Executors.newFixedThreadPool(4)) {
      List<Callable<Integer>> tasks = new ArrayList<>();
      for (int thread = 0; thread < 4; thread++) {
        int seed = thread;
        tasks.add(() -> createOrOpen(rounds, seed));
      }
      int used = 0;
      for (Future<Integer> task : threads.invokeAll(tasks)) {
        used += task.get();
      }
      assertThat(used).isPositive();
    }
    assertThat(files()).isEmpty();
  }

  private int createOrOpen(int rounds, int seed) {
    int used = 0;
    for (int i = 0; i < rounds; i++) {
      String name = "n" + (i + seed) % 2;
      try (UnifiedBuffer<long[]> buffer =
          (i + seed) % 3 == 0
              ? memory.createShared(ElementType.LONG, 600, name)
              : memory.openShared(ElementType.LONG, name)) {
        MemorySegment bytes = buffer.asSegment();
        // A file of zeros, or one that somebody has written to as a whole.
        long first = bytes.getAtIndex(ValueLayout.JAVA_LONG, 599);
        assertThat(first).isIn(0L, 7L);
        bytes.setAtIndex(ValueLayout.JAVA_LONG, 599, 7L);
        used++;
      } catch (TransferException e) {
        assertThat(e.getCause())
            .isInstanceOfAny(FileAlreadyExistsException.class, NoSuchFileException.class);
      }
    }
    return used;
  }

  @Test
  void anInterruptedThreadSharesAllTheSameAndStaysInterrupted() throws IOException {
    Thread.currentThread().interrupt();
    UnifiedBuffer<int[]> buffer = memory.createShared(ElementType.INT, 100_000, "n");
    UnifiedBuffer<int[]> same = memory.openShared(ElementType.INT, "n");
    buffer.close();
    same.close();
    assertThat(Thread.interrupted()).isTrue();
    assertThat(files()).isEmpty();
  }

  @Test
  void aForgottenBufferIsReclaimedWithItsFile() throws IOException {
    forget();
    await()
        .atMost(Duration.ofSeconds(30))
        .until(
            () -> {
              System.gc();
              return memory.statistics().leaks() == 1;
            });
    assertThat(files()).isEmpty();
  }

  private void forget() {
    assertThat(memory.createShared(ElementType.INT, 10, "lost").length()).isEqualTo(10);
  }

  @Test
  void aDamagedHeaderIsRefusedWhileOthersUseTheFile() throws Exception {
    // With 2^62 elements more, the number of bytes is the same in 64 bits.
    for (int[] damage :
        new int[][] {{8, 9}, {12, 3}, {16, -1}, {16, 1 << 30}, {28, 0}, {40, 77}, {44, 9000}}) {
      byte[] bytes = leftBehind("damaged", ElementType.INT);
      ByteBuffer.wrap(bytes).putInt(damage[0], damage[1]);
      assertRefused(bytes);
    }
    byte[] cut = leftBehind("damaged", ElementType.INT);
    assertRefused(Arrays.copyOf(cut, cut.length - 1));
    assertRefused(Arrays.copyOf(cut, 100));
  }

  /** Another process holds the lock meanwhile, so that the file does not count as left behind. */
  private void assertRefused(byte[] bytes) throws Exception {
    Files.write(file("damaged"), bytes);
    try (SharedPeer holder = SharedPeer.start("hold", file("damaged").toString())) {
      assertThat(holder.line()).isEqualTo("holds");
      assertThatThrownBy(() -> memory.openShared(ElementType.INT, "damaged"))
          .isInstanceOf(TransferException.class)
          .hasMessageMatching(".*(damaged|version|byte order).*");
      assertThat(memory.statistics().activeBuffers()).isZero();
      assertThat(file("damaged")).exists();
    }
  }

  private static float[] pattern(int length) {
    float[] values = new float[length];
    IntStream.range(0, length).forEach(i -> values[i] = i * 0.5f - 3);
    return values;
  }
}

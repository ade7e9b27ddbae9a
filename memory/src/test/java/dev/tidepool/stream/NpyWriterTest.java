package dev.tidepool.stream;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assumptions.assumeThat;
import static org.junit.jupiter.api.Assumptions.abort;

import dev.tidepool.TransferException;
import java.io.File;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Stream;
import org.assertj.core.api.InstanceOfAssertFactories;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class NpyWriterTest {
  @TempDir Path folder;

  private static NpyHeader floats(long... shape) {
    return NpyHeader.of(NpyType.FLOAT32, false, Arrays.stream(shape).boxed().toList());
  }

  @ParameterizedTest
  @EnumSource(NpyType.class)
  void everyTypeIsWrittenByteForByteAsNumPyDoes(NpyType type) throws IOException {
    assertRewritten(type.numpyName() + "-little");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "c-order",
        "fortran-order",
        "fortran-order-3d",
        "fortran-column",
        "scalar",
        "empty",
        "empty-3d",
        "many-dimensions"
      })
  void everyShapeAndOrderIsWrittenByteForByteAsNumPyDoes(String name) throws IOException {
    assertRewritten(name);
  }

  private void assertRewritten(String name) throws IOException {
    Path target = folder.resolve(name + ".npy");
    try (NpyReader reader = NpyFiles.open(name)) {
      NpyHeader old = reader.header();
      NpyHeader header = NpyHeader.of(old.type(), old.fortranOrder(), old.shape());
      try (NpyWriter writer = NpyWriter.create(target, header, false)) {
        writer.write(0, MemorySegment.ofArray(NpyFiles.read(reader)));
        writer.commit();
      }
    }
    assertThat(target).hasSameBinaryContentAs(NpyFiles.path(name));
  }

  @Test
  @EnabledOnOs(OS.LINUX)
  void aLargeFileHasItsBlocksBeforeItIsWrittenAndNoOtherLength() throws Exception {
    assumeThat(Files.getFileStore(folder).type()).isIn("ext4", "xfs");
    Path target = folder.resolve("large.npy");
    try (NpyWriter writer = NpyWriter.create(target, floats(32 << 20), false)) {
      writer.file().reserve();
      Path partial;
      try (Stream<Path> files = Files.list(folder)) {
        partial = files.findFirst().orElseThrow();
      }
      assertThat(Files.size(partial)).isEqualTo(writer.header().dataOffset());
      Process stat = new ProcessBuilder("stat", "-c", "%b %B", partial.toString()).start();
      String[] blocks = new String(stat.getInputStream().readAllBytes()).strip().split(" ");
      assertThat(Long.parseLong(blocks[0]) * Long.parseLong(blocks[1]))
          .as("the header counts, too")
          .isGreaterThan(128L << 20);
      writer.write(0, MemorySegment.ofArray(new float[] {1, 2, 3}));
      writer.commit();
    }
    assertThat(Files.size(target)).isEqualTo(128 + (128L << 20));
    try (NpyReader reader = NpyReader.open(target)) {
      float[] last = {1, 1};
      reader.read((32 << 20) - 2, MemorySegment.ofArray(last));
      assertThat(last).containsExactly(0, 0);
    }
  }

  @Test
  void anArrayInBothOrdersIsWrittenInCOrder() {
    assertThat(NpyHeader.of(NpyType.INT8, true, List.of(5L, 1L)).fortranOrder()).isFalse();
    assertThat(NpyHeader.of(NpyType.INT8, true, List.of(5L, 0L, 3L)).fortranOrder()).isFalse();
    assertThat(NpyHeader.of(NpyType.INT8, true, List.of(5L, 2L)).fortranOrder()).isTrue();
  }

  @Test
  void theTargetAppearsOnlyWithTheCommit() throws IOException {
    Path target = folder.resolve("y.npy");
    try (NpyWriter writer = NpyWriter.create(target, floats(3), false)) {
      writer.write(0, MemorySegment.ofArray(new float[] {1, 2, 3}));
      assertThat(target).doesNotExist();

      writer.commit();
      writer.commit();
      NpyFiles.assertFolderHolds(folder, "y.npy");
    }
    NpyFiles.assertFolderHolds(folder, "y.npy");
  }

  @Test
  void withoutACommitNothingIsLeft() throws IOException {
    NpyWriter writer = NpyWriter.create(folder.resolve("y.npy"), floats(3), false);
    writer.write(0, MemorySegment.ofArray(new float[] {1, 2, 3}));
    writer.close();
    writer.close();

    NpyFiles.assertFolderHolds(folder);
    assertThatThrownBy(() -> writer.write(0, MemorySegment.ofArray(new float[1])))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("closed");
    assertThatThrownBy(writer::commit)
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("closed");
  }

  @Test
  void elementsThatNobodyWroteAreZero() throws IOException {
    Path target = folder.resolve("y.npy");
    try (NpyWriter writer = NpyWriter.create(target, floats(100_000), false)) {
      writer.write(5, MemorySegment.ofArray(new float[] {1, 2}));
      writer.commit();
    }
    try (NpyReader reader = NpyReader.open(target)) {
      float[] values = new float[100_000];
      reader.read(0, MemorySegment.ofArray(values));
      float[] expected = new float[100_000];
      expected[5] = 1;
      expected[6] = 2;
      assertThat(values).isEqualTo(expected);
    }
  }

  @Test
  void aHeaderOfAnotherFileIsRefusedIfElementsWouldBeElsewhere() throws IOException {
    NpyHeader shorter =
        new NpyHeader(1, NpyType.FLOAT32, ByteOrder.nativeOrder(), false, List.of(3L), 80);

    assertThatThrownBy(() -> NpyWriter.create(folder.resolve("y.npy"), shorter, false))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("begin at byte 80")
        .hasMessageContaining("128 bytes before them; make one with NpyHeader.of");
    NpyFiles.assertFolderHolds(folder);
  }

  @Test
  void anExistingTargetIsOnlyReplacedWhenAllowed() throws IOException {
    Path target = folder.resolve("y.npy");
    Files.writeString(target, "precious");
    assertThatThrownBy(() -> NpyWriter.create(target, floats(1), false))
        .isInstanceOf(TransferException.class)
        .hasMessageContaining("y.npy exists");
    assertThat(target).hasContent("precious");
    NpyFiles.assertFolderHolds(folder, "y.npy");

    Files.setPosixFilePermissions(target, PosixFilePermissions.fromString("rw-------"));
    try (NpyWriter writer = NpyWriter.create(target, floats(1), true)) {
      assertThat(target).hasContent("precious");
      writer.commit();
    }
    assertThat(Files.size(target)).isEqualTo(132);
    assertThat(Files.getPosixFilePermissions(target))
        .isEqualTo(PosixFilePermissions.fromString("rw-------"));
  }

  private static String permissions(Path file) throws IOException {
    return PosixFilePermissions.toString(Files.getPosixFilePermissions(file));
  }

  private Path partial() throws IOException {
    return folder.resolve(UnfinishedWriter.partialFile(folder));
  }

  @EnabledOnOs({OS.LINUX, OS.MAC})
  @ParameterizedTest
  @ValueSource(strings = {"rw-------", "rw-r-----", "rw-rw-rw-"})
  void whatReplacesAFileIsNobodyElsesUntilItIsInItsPlace(String before) throws IOException {
    Path target = Files.writeString(folder.resolve("y.npy"), "precious");
    Files.setPosixFilePermissions(target, PosixFilePermissions.fromString(before));
    try (NpyWriter writer = NpyWriter.create(target, floats(1), true)) {
      assertThat(permissions(partial())).isEqualTo("rw-------");
      writer.write(0, MemorySegment.ofArray(new float[] {1}));
      writer.commit();
    }
    assertThat(permissions(target)).isEqualTo(before);
  }

  @EnabledOnOs({OS.LINUX, OS.MAC})
  @Test
  void whatGoesOnAndWillReplaceAFileThatCameMeanwhileIsNobodyElses() throws IOException {
    Path target = folder.resolve("y.npy");
    String name = dev.tidepool.stream.file.AtomicFile.newPartialName();
    NpyWriter.createKept(target, floats(1), true, name).close();
    Files.setPosixFilePermissions(partial(), PosixFilePermissions.fromString("rw-rw-rw-"));
    Files.writeString(target, "precious");
    Files.setPosixFilePermissions(target, PosixFilePermissions.fromString("rw-r-----"));
    try (NpyWriter writer = NpyWriter.reopen(target, floats(1), true, name)) {
      assertThat(permissions(partial())).isEqualTo("rw-------");
      writer.commit();
    }
    assertThat(permissions(target)).isEqualTo("rw-r-----");
  }

  /** Only a user that may give files away can have one of a foreign group. */
  @EnabledOnOs({OS.LINUX, OS.MAC})
  @Test
  void whatReplacesAFileIsOfItsOwnerAndGroup() throws IOException {
    Path target = Files.writeString(folder.resolve("y.npy"), "precious");
    int owner = (int) Files.getAttribute(target, "unix:uid") + 1;
    int group = (int) Files.getAttribute(target, "unix:gid") + 1;
    try {
      Files.setAttribute(target, "unix:gid", group);
      Files.setAttribute(target, "unix:uid", owner);
    } catch (IOException e) {
      abort("no other owner: " + e);
    }
    Files.setPosixFilePermissions(target, PosixFilePermissions.fromString("rw-r-----"));
    try (NpyWriter writer = NpyWriter.create(target, floats(1), true)) {
      writer.commit();
    }
    assertThat(Files.getAttribute(target, "unix:uid")).isEqualTo(owner);
    assertThat(Files.getAttribute(target, "unix:gid")).isEqualTo(group);
    assertThat(permissions(target)).isEqualTo("rw-r-----");
  }

  @Test
  void aTargetThatAppearsMeanwhileIsNotReplaced() throws IOException {
    Path target = folder.resolve("y.npy");
    try (NpyWriter writer = NpyWriter.create(target, floats(1), false)) {
      Files.writeString(target, "precious");

      assertThatThrownBy(writer::commit)
          .isInstanceOf(TransferException.class)
          .hasMessageContaining("y.npy exists");
    }
    assertThat(target).hasContent("precious");
    NpyFiles.assertFolderHolds(folder, "y.npy");
  }

  @Test
  void whereThePartialFileCannotBeDeletedEitherTheFirstFailureIsTold() throws IOException {
    Path target = folder.resolve("y.npy");
    try (NpyWriter writer = NpyWriter.create(target, floats(1), false)) {
      Files.writeString(target, "precious");
      Path partial = folder.resolve(UnfinishedWriter.partialFile(folder));
      Files.delete(partial);
      Files.createDirectories(partial.resolve("not empty"));

      assertThatThrownBy(writer::commit)
          .hasMessageContaining("y.npy exists")
          .satisfies(
              e ->
                  assertThat(e.getSuppressed())
                      .singleElement()
                      .asInstanceOf(InstanceOfAssertFactories.THROWABLE)
                      .hasMessageContaining("cannot delete the partial file"));
    }
  }

  @Test
  void ofSeveralWritersOfOneFileOneCommits() throws Exception {
    Path target = folder.resolve("y.npy");
    try (ExecutorService threads = Executors.newFixedThreadPool(2)) {
      CyclicBarrier together = new CyclicBarrier(2);
      for (int round = 0; round < 3000; round++) {
        NpyWriter one = NpyWriter.create(target, floats(1), false);
        NpyWriter other = NpyWriter.create(target, floats(1), false);
        Future<Boolean> first = threads.submit(() -> isCommitted(one, together));
        Future<Boolean> second = threads.submit(() -> isCommitted(other, together));

        assertThat(first.get()).as("round " + round).isNotEqualTo(second.get());
        NpyFiles.assertFolderHolds(folder, "y.npy");
        Files.delete(target);
      }
    }
  }

  private static boolean isCommitted(NpyWriter writer, CyclicBarrier together) throws Exception {
    try (writer) {
      writer.prepare();
      together.await();
      writer.commit();
      return true;
    } catch (TransferException e) {
      assertThat(e).hasMessageContaining("y.npy exists");
      return false;
    }
  }

  @Test
  void aSymbolicLinkStaysAndWhatItLeadsToIsReplaced() throws IOException {
    Path real = Files.writeString(folder.resolve("real.npy"), "old");
    Path link = Files.createSymbolicLink(folder.resolve("link.npy"), real);
    try (NpyWriter writer = NpyWriter.create(link, floats(1), true)) {
      writer.commit();
    }

    assertThat(link).isSymbolicLink();
    assertThat(Files.size(real)).isEqualTo(132);
  }

  @ParameterizedTest
  @ValueSource(strings = {"gone.npy", "link.npy"})
  void aSymbolicLinkThatLeadsNowhereIsRefusedAtOnce(String place) throws IOException {
    Path link = Files.createSymbolicLink(folder.resolve("link.npy"), Path.of(place));
    for (boolean overwrite : List.of(true, false)) {
      assertThatThrownBy(() -> NpyWriter.create(link, floats(1), overwrite))
          .isInstanceOf(TransferException.class)
          .hasMessageContaining("leads to no file");
    }
    try (Stream<Path> left = Files.list(folder)) {
      assertThat(left).containsExactly(link);
    }
  }

  @Test
  void devicesAndMissingFoldersAreRefused() {
    assertThatThrownBy(() -> NpyWriter.create(Path.of("/dev/null"), floats(1), true))
        .isInstanceOf(TransferException.class)
        .hasMessageContaining("no regular file");
    assertThatThrownBy(() -> NpyWriter.create(folder.resolve("no/y.npy"), floats(1), true))
        .isInstanceOf(TransferException.class)
        .hasMessageContaining("does not exist");
  }

  @EnabledOnOs({OS.LINUX, OS.MAC})
  @Test
  void aNameThatNoFileCanHaveIsRefusedAtOnce() {
    Path target = folder.resolve("y".repeat(300));
    assertThatThrownBy(() -> NpyWriter.create(target, floats(1), true))
        .isInstanceOf(TransferException.class)
        .hasMessageEndingWith("File name too long");
  }

  @Test
  void aFileLargerThanTheDiskIsRefusedAtOnce() throws IOException {
    assertThatThrownBy(() -> NpyWriter.create(folder.resolve("y.npy"), floats(1L << 50), false))
        .isInstanceOf(TransferException.class)
        .hasMessageContaining("it takes 4096.0 TiB")
        .hasMessageContaining("free some");
    NpyFiles.assertFolderHolds(folder);
  }

  @Test
  void aDiskThatFillsUpIsOneClearErrorAndLeavesNothing() throws Exception {
    Path disk = Files.createDirectory(folder.resolve("disk"));
    int mounted = run("mount", "-t", "tmpfs", "-o", "size=1m", "tidepool-test", disk.toString());
    assumeThat(mounted).as("only root can mount a small disk").isZero();
    try {
      NpyWriter writer = NpyWriter.create(disk.resolve("y.npy"), floats(200_000), false);
      Files.write(disk.resolve("other"), new byte[600_000]);
      try (writer) {
        assertThatThrownBy(() -> writer.write(0, MemorySegment.ofArray(new float[200_000])))
            .isInstanceOf(TransferException.class)
            .hasMessageContaining("y.npy: its disk is full")
            .hasMessageContaining("the file takes 781.4 KiB");
        assertThatThrownBy(writer::commit)
            .isInstanceOf(IllegalStateException.class)
            .hasMessageContaining("a write failed");
      }
      NpyFiles.assertFolderHolds(disk, "other");
    } finally {
      assertThat(run("umount", disk.toString())).isZero();
    }
  }

  private static int run(String... command) throws IOException, InterruptedException {
    try {
      return new ProcessBuilder(command)
          .redirectErrorStream(true)
          .redirectOutput(ProcessBuilder.Redirect.DISCARD)
          .start()
          .waitFor();
    } catch (IOException _) {
      return -1;
    }
  }

  @Test
  void threadsWriteSideBySideAndInterruptsHarmNobody() throws Exception {
    int block = 1000;
    int blocks = 2000;
    Path target = folder.resolve("y.npy");
    NpyHeader header = NpyHeader.of(NpyType.INT32, false, List.of((long) block * blocks));
    try (NpyWriter writer = NpyWriter.create(target, header, false);
        ExecutorService threads = Executors.newFixedThreadPool(4)) {
      List<Future<?>> results = new ArrayList<>();
      for (int t = 0; t < 4; t++) {
        int thread = t;
        results.add(threads.submit(() -> writeEveryFourth(writer, thread, block, blocks)));
      }
      for (Future<?> result : results) {
        result.get();
      }
      writer.commit();
    }
    try (NpyReader reader = NpyReader.open(target)) {
      int[] values = new int[block * blocks];
      reader.read(0, MemorySegment.ofArray(values));
      int[] expected = new int[values.length];
      Arrays.setAll(expected, i -> i);
      assertThat(Arrays.mismatch(values, expected)).isEqualTo(-1);
    }
  }

  private static void writeEveryFourth(NpyWriter writer, int thread, int block, int blocks) {
    try (Arena arena = Arena.ofConfined()) {
      for (int b = thread; b < blocks; b += 4) {
        int first = b * block;
        int[] values = new int[block];
        Arrays.setAll(values, i -> first + i);
        MemorySegment source = MemorySegment.ofArray(values);
        if (thread % 2 == 0) {
          source = arena.allocate(source.byteSize()).copyFrom(source);
        }
        if (thread == 3 && b % 5 == 0) {
          Thread.currentThread().interrupt();
        }
        writer.write(first, source);
        if (thread == 3 && b % 5 == 0) {
          assertThat(Thread.interrupted()).isTrue();
        }
      }
    }
  }

  @Test
  void anEndingVirtualMachineLeavesNoPartialFile() throws Exception {
    Process process =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-cp",
                classPath(),
                UnfinishedWriter.class.getName(),
                folder.resolve("y.npy").toString())
            .redirectErrorStream(true)
            .start();
    String first = process.inputReader().readLine();
    assertThat(first).isEqualTo("writing");
    NpyFiles.assertFolderHolds(folder, UnfinishedWriter.partialFile(folder));

    process.destroy();
    assertThat(process.waitFor()).isEqualTo(128 + 15);
    NpyFiles.assertFolderHolds(folder);
  }

  private static String classPath() throws Exception {
    List<String> places = new ArrayList<>();
    for (Class<?> type : List.of(NpyWriter.class, UnfinishedWriter.class)) {
      places.add(
          Path.of(type.getProtectionDomain().getCodeSource().getLocation().toURI()).toString());
    }
    return String.join(File.pathSeparator, places);
  }

  /** Root can write whatever is protected, unless it gives that right up. */
  @Test
  @EnabledOnOs(OS.LINUX)
  void aTargetThatIsWriteProtectedIsKept() throws Exception {
    Path target = Files.writeString(folder.resolve("protected.npy"), "mine");
    Files.setPosixFilePermissions(target, PosixFilePermissions.fromString("r--r--r--"));
    List<String> command = new ArrayList<>();
    if (Files.isWritable(target)) {
      command.addAll(List.of("setpriv", "--bounding-set=-dac_override"));
    }
    command.addAll(
        List.of(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "-cp",
            System.getProperty("java.class.path"),
            Overwriting.class.getName(),
            target.toString()));
    Process process;
    try {
      process = new ProcessBuilder(command).redirectErrorStream(true).start();
    } catch (IOException e) {
      abort("SKIPPED: root cannot give up rights here: " + e);
      return;
    }
    String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(process.waitFor()).as(output).isZero();
    assertThat(output)
        .isEqualToIgnoringNewLines(
            "cannot write "
                + target
                + ": permission denied, it is write-protected; make it writable, or name another"
                + " file");
    assertThat(target).hasContent("mine");
  }

  /** Replaces a file and prints why it cannot. */
  static final class Overwriting {
    private Overwriting() {}

    public static void main(String[] arguments) {
      try (NpyWriter writer = NpyWriter.create(Path.of(arguments[0]), floats(1), true)) {
        writer.commit();
      } catch (TransferException e) {
        System.out.println(e.getMessage());
      }
    }
  }
}

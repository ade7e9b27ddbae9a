package dev.tidepool;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assumptions.assumeThat;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

/** What goes wrong with the file that buffers are spilled to, and what is left of it. */
final class SpillFileTest {
  private static final int MIB = 1 << 20;

  @TempDir Path directory;

  private MemoryOptions options(Path spillDirectory) {
    return MemoryOptions.builder().memoryLimit(2 * MIB).spillDirectory(spillDirectory).build();
  }

  private static byte[] pattern(int seed) {
    byte[] bytes = new byte[MIB];
    for (int i = 0; i < bytes.length; i++) {
      bytes[i] = (byte) (i * 7 + (i >> 8) + seed);
    }
    return bytes;
  }

  private static UnifiedBuffer<byte[]> filled(UnifiedMemoryManager memory, int seed) {
    UnifiedBuffer<byte[]> buffer = memory.allocate(ElementType.BYTE, MIB);
    buffer.copyFrom(pattern(seed));
    return buffer;
  }

  private static byte[] contents(UnifiedBuffer<byte[]> buffer) {
    byte[] bytes = new byte[MIB];
    buffer.copyTo(bytes);
    return bytes;
  }

  @Test
  void aDirectoryThatIsMissingOrNoneIsRefusedAtOnce() throws IOException {
    Path missing = directory.resolve("missing");
    assertThatThrownBy(() -> UnifiedMemoryManager.create(options(missing)))
        .isInstanceOf(TransferException.class)
        .hasMessageContaining(missing.toString())
        .hasMessageContaining("no such file or folder");
    Path file = Files.createFile(directory.resolve("file"));
    assertThatThrownBy(() -> Tidepool.open(options(file)))
        .isInstanceOf(TransferException.class)
        .hasMessageContaining("it is no folder");
  }

  @Test
  @EnabledOnOs(OS.LINUX)
  void aDirectoryThatMayNotBeWrittenIsRefusedAtOnce() {
    // Not even root makes files there.
    assertThatThrownBy(() -> UnifiedMemoryManager.create(options(Path.of("/proc/self"))))
        .isInstanceOf(TransferException.class)
        .hasMessageContaining(
            "the spill-directory /proc/self cannot be used: no file can be made in it; name");
  }

  @Test
  @EnabledOnOs(OS.LINUX)
  void aFullDiskRefusesAllocationsAndLosesNothing() throws Throwable {
    try (UnifiedMemoryManager memory = UnifiedMemoryManager.create(options(directory))) {
      List<UnifiedBuffer<byte[]>> buffers = new ArrayList<>();
      buffers.add(filled(memory, 0));
      buffers.add(filled(memory, 1));
      long[] before = FileSizeLimit.get();
      // The kernel cuts files off here, in the middle of a buffer, as a full disk does.
      FileSizeLimit.set(MIB / 2, before[1]);
      try {
        assertThatThrownBy(() -> filled(memory, 2))
            .isInstanceOf(OutOfDeviceMemoryException.class)
            .hasMessageContaining("spilling 1 MiB to " + directory)
            .hasMessageContaining("the buffer stays in memory");
        assertThat(memory.statistics().spilledBytes()).isZero();
        assertThat(memory.statistics().spills()).isZero();
        for (int i = 0; i < 2; i++) {
          assertThat(contents(buffers.get(i))).isEqualTo(pattern(i));
        }
      } finally {
        FileSizeLimit.set(before[0], before[1]);
      }
      buffers.add(filled(memory, 2));
      assertThat(memory.statistics().spills()).isEqualTo(1);
      for (int i = 0; i < 3; i++) {
        assertThat(contents(buffers.get(i))).isEqualTo(pattern(i));
      }
      buffers.forEach(UnifiedBuffer::close);
    }
  }

  /** RLIMIT_FSIZE of this process, soft and hard. */
  private static final class FileSizeLimit {
    private static final int RLIMIT_FSIZE = 1;

    private static MethodHandle call(String name) {
      Linker linker = Linker.nativeLinker();
      return linker.downcallHandle(
          linker.defaultLookup().find(name).orElseThrow(),
          FunctionDescriptor.of(ValueLayout.JAVA_INT, ValueLayout.JAVA_INT, ValueLayout.ADDRESS));
    }

    static long[] get() throws Throwable {
      try (Arena arena = Arena.ofConfined()) {
        MemorySegment limits = arena.allocate(ValueLayout.JAVA_LONG, 2);
        assertThat((int) call("getrlimit").invokeExact(RLIMIT_FSIZE, limits)).isZero();
        return limits.toArray(ValueLayout.JAVA_LONG);
      }
    }

    static void set(long soft, long hard) throws Throwable {
      try (Arena arena = Arena.ofConfined()) {
        MemorySegment limits = arena.allocateFrom(ValueLayout.JAVA_LONG, soft, hard);
        assertThat((int) call("setrlimit").invokeExact(RLIMIT_FSIZE, limits)).isZero();
      }
    }
  }

  @Test
  @EnabledOnOs(OS.LINUX)
  void aDiskThatFailsReadsFailsThatAccessAndNothingElse() throws IOException {
    try (UnifiedMemoryManager memory = UnifiedMemoryManager.create(options(directory))) {
      List<UnifiedBuffer<byte[]>> buffers = new ArrayList<>();
      for (int i = 0; i < 4; i++) {
        buffers.add(filled(memory, i));
      }
      // Room for the one that comes back, so that no other is written behind it.
      buffers.removeLast().close();
      // Through the descriptor, because the file has no name any more.
      Path open = openSpillFile();
      byte[] all = new byte[2 * MIB];
      try (RandomAccessFile file = new RandomAccessFile(open.toFile(), "rw")) {
        file.readFully(all);
        file.setLength(MIB / 2);
        assertThatThrownBy(() -> contents(buffers.get(0)))
            .isInstanceOf(TransferException.class)
            .hasMessageContaining("bringing 1 MiB back from " + directory);
        assertThat(buffers.get(0).state()).isEqualTo(BufferState.DEVICE_ONLY);
        assertThat(memory.buffers()).hasSize(3);
        assertThat(memory.statistics().spilledBytes()).isEqualTo(2L * MIB);
        file.seek(0);
        file.write(all);
      }
      assertThat(contents(buffers.get(0))).isEqualTo(pattern(0));
      buffers.forEach(UnifiedBuffer::close);
    }
  }

  private static Path openSpillFile() throws IOException {
    try (Stream<Path> descriptors = Files.list(Path.of("/proc/self/fd"))) {
      return descriptors
          .filter(SpillFileTest::isSpillFile)
          .findFirst()
          .orElseThrow(() -> new AssertionError("no spill file is open"));
    }
  }

  private static boolean isSpillFile(Path descriptor) {
    try {
      return Files.readSymbolicLink(descriptor).toString().contains("tidepool-spill-");
    } catch (IOException e) {
      return false;
    }
  }

  @Test
  @EnabledOnOs(OS.LINUX)
  void onlyTheOwnerMayOpenTheFileAndItHasNoNameWhileItIsUsed() throws IOException {
    try (UnifiedMemoryManager memory = UnifiedMemoryManager.create(options(directory))) {
      List<UnifiedBuffer<byte[]>> buffers = new ArrayList<>();
      for (int i = 0; i < 4; i++) {
        buffers.add(filled(memory, i));
      }
      assertThat(memory.statistics().spilledBytes()).isEqualTo(2L * MIB);
      assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(openSpillFile())))
          .isEqualTo("rw-------");
      try (Stream<Path> names = Files.list(directory)) {
        assertThat(names).isEmpty();
      }
      buffers.forEach(UnifiedBuffer::close);
    }
  }

  /** As where a system cannot delete what is open: the file keeps its name. */
  @Test
  @EnabledOnOs(OS.LINUX)
  void aFileThatIsInUseStaysAlsoWhereItsDirectoryHasAnotherPath() throws IOException {
    Path alias = Files.createSymbolicLink(directory.resolve("alias"), directory);
    try (UnifiedMemoryManager _ = UnifiedMemoryManager.create(options(directory))) {
      String deleted = Files.readSymbolicLink(openSpillFile()).toString();
      Path named = Files.createFile(Path.of(deleted.replace(" (deleted)", "")));
      UnifiedMemoryManager.create(options(alias)).close();
      assertThat(named).exists();
    }
  }

  @Test
  void filesThatKilledProcessesLeftAreDeletedAndThoseOfTheLivingAreNot() throws Exception {
    Path stale = Files.write(directory.resolve("tidepool-spill-1-2-3.tmp"), new byte[100]);
    Path other = Files.write(directory.resolve("tidepool-spill.txt"), new byte[100]);
    Path alive = directory.resolve("tidepool-spill-living.tmp");
    Path ready = directory.resolve("ready");
    Process process =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-cp",
                System.getProperty("java.class.path"),
                LockHolder.class.getName(),
                alive.toString(),
                ready.toString())
            .inheritIO()
            .start();
    try {
      while (!Files.exists(ready)) {
        assertThat(process.isAlive()).isTrue();
        Thread.sleep(20);
      }
      UnifiedMemoryManager.create(options(directory)).close();
      assertThat(stale).doesNotExist();
      assertThat(other).exists();
      assertThat(alive).exists();
    } finally {
      process.destroyForcibly().waitFor();
    }
    UnifiedMemoryManager.create(options(directory)).close();
    assertThat(alive).doesNotExist();
  }

  /** Another process that has a file locked until it is killed. */
  static final class LockHolder {
    private LockHolder() {}

    public static void main(String[] files) throws Exception {
      try (FileChannel channel =
              FileChannel.open(
                  Path.of(files[0]), StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
          FileLock lock = channel.lock()) {
        assertThat(lock.isValid()).isTrue();
        Files.createFile(Path.of(files[1]));
        Thread.sleep(60_000);
      }
    }
  }

  @Test
  void aProcessThatIsKilledWhileItSpillsLeavesNothing() throws Exception {
    assumeThat(OS.current()).isNotEqualTo(OS.WINDOWS);
    Path ready = directory.resolve("ready");
    Path spill = Files.createDirectory(directory.resolve("spill"));
    Process process =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--enable-native-access=ALL-UNNAMED",
                "-cp",
                System.getProperty("java.class.path"),
                Spiller.class.getName(),
                spill.toString(),
                ready.toString())
            .inheritIO()
            .start();
    try {
      while (!Files.exists(ready)) {
        assertThat(process.isAlive()).isTrue();
        Thread.sleep(20);
      }
    } finally {
      process.destroyForcibly().waitFor();
    }
    try (Stream<Path> names = Files.list(spill)) {
      assertThat(names).isEmpty();
    }
  }

  /** Another process that spills until it is killed. */
  static final class Spiller {
    private Spiller() {}

    public static void main(String[] files) throws Exception {
      MemoryOptions options =
          MemoryOptions.builder().memoryLimit(2 * MIB).spillDirectory(Path.of(files[0])).build();
      try (UnifiedMemoryManager memory = UnifiedMemoryManager.create(options)) {
        UnifiedBuffer<?>[] buffers = new UnifiedBuffer<?>[6];
        Arrays.setAll(buffers, i -> filled(memory, i));
        for (int i = 0; ; i++) {
          buffers[i % buffers.length].fill((byte) i);
          if (i == 20) {
            Files.createFile(Path.of(files[1]));
          }
        }
      }
    }
  }
}

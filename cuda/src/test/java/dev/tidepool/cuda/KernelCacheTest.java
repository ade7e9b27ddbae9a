package dev.tidepool.cuda;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class KernelCacheTest {
  @TempDir private Path folder;

  private KernelCache cache() {
    return new KernelCache(folder.resolve("tidepool/cuda"));
  }

  private static byte[] code(int length) {
    byte[] code = new byte[length];
    for (int i = 0; i < length; i++) {
      code[i] = (byte) (i * 31);
    }
    return code;
  }

  private Path file(String key) {
    return folder.resolve("tidepool/cuda").resolve(key + ".kept");
  }

  @Test
  void whatIsKeptIsFoundAgain() {
    cache().put("a", code(1000));
    cache().put("b", code(0));
    assertThat(cache().get("a")).hasValue(code(1000));
    assertThat(cache().get("b")).hasValue(new byte[0]);
    assertThat(cache().get("c")).isEmpty();
  }

  @Test
  void onlyItsOwnerMayEnter() throws Exception {
    assumeThat(folder.getFileSystem().supportedFileAttributeViews()).contains("posix");
    cache().put("a", code(10));
    assertThat(
            PosixFilePermissions.toString(
                Files.getPosixFilePermissions(folder.resolve("tidepool/cuda"))))
        .isEqualTo("rwx------");
    assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(file("a"))))
        .isEqualTo("rw-------");
  }

  @Test
  void aFolderThatOthersMayWriteIsNotTrusted() throws Exception {
    assumeThat(folder.getFileSystem().supportedFileAttributeViews()).contains("posix");
    cache().put("a", code(10));
    Files.setPosixFilePermissions(
        folder.resolve("tidepool/cuda"), PosixFilePermissions.fromString("rwxrwxrwx"));
    assertThat(cache().get("a")).isEmpty();
    cache().put("b", code(10));
    assertThat(file("b")).doesNotExist();
  }

  @Test
  void aDamagedFileCountsAsNone() throws Exception {
    cache().put("a", code(1000));
    byte[] whole = Files.readAllBytes(file("a"));
    for (int at : new int[] {0, 9, 500}) {
      byte[] damaged = whole.clone();
      damaged[at] ^= 1;
      Files.write(file("a"), damaged);
      assertThat(cache().get("a")).as("byte %d differs", at).isEmpty();
    }
    for (int length : new int[] {0, 15, 16, 700}) {
      Files.write(file("a"), java.util.Arrays.copyOf(whole, length));
      assertThat(cache().get("a")).as("%d bytes are left", length).isEmpty();
    }
    cache().put("a", code(1000));
    assertThat(cache().get("a")).hasValue(code(1000));
  }

  @Test
  void manyWritersLeaveWholeFilesOnly() throws Exception {
    List<Thread> writers =
        IntStream.range(0, 8)
            .mapToObj(
                w ->
                    Thread.ofPlatform()
                        .start(
                            () -> {
                              for (int i = 0; i < 50; i++) {
                                cache().put("same", code(5000));
                                cache()
                                    .get("same")
                                    .ifPresent(found -> assertThat(found).isEqualTo(code(5000)));
                              }
                            }))
            .toList();
    for (Thread writer : writers) {
      writer.join();
    }
    assertThat(cache().get("same")).hasValue(code(5000));
    try (Stream<Path> files = Files.list(folder.resolve("tidepool/cuda"))) {
      assertThat(files).hasSize(1);
    }
  }

  @Test
  void aFolderThatCannotBeMadeKeepsNothingAndIsNoError() throws Exception {
    Files.writeString(folder.resolve("tidepool"), "a file where a folder should be");
    cache().put("a", code(10));
    assertThat(cache().get("a")).isEmpty();
  }

  @Test
  void theSettingAndTheEnvironmentSayWhere() {
    assertThat(KernelCache.of(Optional.of("none"), Map.of(), folder).folder()).isNull();
    assertThat(KernelCache.of(Optional.of("/k"), Map.of(), folder).folder())
        .isEqualTo(Path.of("/k"));
    assertThat(KernelCache.of(Optional.empty(), Map.of(), folder).folder())
        .isEqualTo(folder.resolve(".cache/tidepool/cuda"));
    assertThat(KernelCache.of(Optional.empty(), Map.of("XDG_CACHE_HOME", "/x"), folder).folder())
        .isEqualTo(Path.of("/x/tidepool/cuda"));
  }

  @Test
  void aUserWithoutAHomeKeepsNothingRatherThanWhereTheProgramHappensToRun() {
    // What the virtual machine says of one.
    assertThat(KernelCache.of(Optional.empty(), Map.of(), Path.of("?")).folder()).isNull();
    assertThat(
            KernelCache.of(Optional.empty(), Map.of("XDG_CACHE_HOME", "/x"), Path.of("?")).folder())
        .isEqualTo(Path.of("/x/tidepool/cuda"));
  }
}

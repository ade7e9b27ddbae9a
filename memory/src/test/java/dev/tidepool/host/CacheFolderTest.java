package dev.tidepool.host;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import dev.tidepool.host.system.OperatingSystem;
import java.io.File;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a cache keeps and deletes, and what it takes for its own. */
final class CacheFolderTest {
  private static final int MOST = 2000;

  @TempDir Path parent;
  private Path folder;
  private CacheFolder cache;

  @BeforeEach
  void anEmptyCache() {
    folder = parent.resolve("cache");
    cache = new CacheFolder(folder);
    cache.put("newest", new byte[] {1});
  }

  private static byte[] code(int length) {
    byte[] code = new byte[length];
    for (int i = 0; i < length; i++) {
      code[i] = (byte) (i * 31);
    }
    return code;
  }

  private Path file(String key) {
    return folder.resolve(key + ".kept");
  }

  private List<Path> many(String ending) throws Exception {
    List<Path> files = new ArrayList<>();
    for (int i = 0; i < MOST; i++) {
      Path file = Files.createFile(folder.resolve(i + ending));
      Files.setLastModifiedTime(file, FileTime.fromMillis(1_000_000 + 2000L * i));
      files.add(file);
    }
    return files;
  }

  @Test
  void whatIsKeptIsFoundAgain() {
    cache.put("a", code(1000));
    cache.put("b", code(0));
    assertThat(cache.get("a")).hasValue(code(1000));
    assertThat(cache.get("b")).hasValue(new byte[0]);
    assertThat(cache.get("c")).isEmpty();
  }

  @Test
  void onlyItsOwnerMayEnter() throws Exception {
    assumeThat(folder.getFileSystem().supportedFileAttributeViews()).contains("posix");
    cache.put("a", code(10));
    assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(folder)))
        .isEqualTo("rwx------");
    assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(file("a"))))
        .isEqualTo("rw-------");
  }

  @Test
  void aFolderThatOthersMayWriteIsNotTrusted() throws Exception {
    assumeThat(folder.getFileSystem().supportedFileAttributeViews()).contains("posix");
    cache.put("a", code(10));
    Files.setPosixFilePermissions(folder, PosixFilePermissions.fromString("rwxrwxrwx"));
    assertThat(cache.get("a")).isEmpty();
    cache.put("b", code(10));
    assertThat(file("b")).doesNotExist();
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
                                cache.put("same", code(5000));
                                cache
                                    .get("same")
                                    .ifPresent(found -> assertThat(found).isEqualTo(code(5000)));
                              }
                            }))
            .toList();
    for (Thread writer : writers) {
      writer.join();
    }
    assertThat(cache.get("same")).hasValue(code(5000));
    try (Stream<Path> files = Files.list(folder)) {
      assertThat(files).hasSize(2);
    }
  }

  @Test
  void aFolderThatCannotBeMadeKeepsNothingAndIsNoError() throws Exception {
    Path file = Files.writeString(parent.resolve("file"), "where a folder should be");
    CacheFolder impossible = new CacheFolder(file.resolve("cache"));
    impossible.put("a", code(10));
    assertThat(impossible.get("a")).isEmpty();
  }

  @Test
  void theOldestGoWhenThereAreTooMany() throws Exception {
    List<Path> old = many(".kept");
    cache.put("another", new byte[] {2});
    assertThat(old.get(0)).doesNotExist();
    assertThat(old.get(1)).doesNotExist();
    assertThat(old.subList(2, MOST)).allMatch(Files::exists);
    assertThat(cache.get("newest")).hasValue(new byte[] {1});
    assertThat(cache.get("another")).hasValue(new byte[] {2});
  }

  @Test
  void whatWasReadIsNotAmongTheOldest() throws Exception {
    many(".kept");
    Files.setLastModifiedTime(folder.resolve("newest.kept"), FileTime.fromMillis(0));
    assertThat(cache.get("newest")).hasValue(new byte[] {1});
    cache.put("another", new byte[] {2});
    assertThat(cache.get("newest")).hasValue(new byte[] {1});
  }

  @Test
  void filesThatOthersUseMeanwhileDoNotKeepTheOldestFromGoing() throws Exception {
    List<Path> files = many(".kept");
    AtomicBoolean ended = new AtomicBoolean();
    Random random = new Random(1);
    Thread others =
        Thread.ofPlatform()
            .start(
                () -> {
                  while (!ended.get()) {
                    File file = files.get(random.nextInt(MOST)).toFile();
                    var _ = file.setLastModified(1_000_000 + 1000L * random.nextInt(MOST));
                  }
                });
    try {
      for (int i = 0; i < 30; i++) {
        cache.put("another" + i, new byte[] {2});
      }
    } finally {
      ended.set(true);
      others.join();
    }
    assertThat(folder.toFile().list()).hasSize(MOST);
  }

  @Test
  void filesOfOthersAreNeitherCountedNorDeleted() throws Exception {
    List<Path> others = many(".txt");
    others.add(Files.createDirectory(folder.resolve("folder.kept")));
    cache.put("another", new byte[] {2});
    assertThat(others).allMatch(Files::exists);
    assertThat(cache.get("newest")).hasValue(new byte[] {1});
  }

  @Test
  void whatIsNoFileOfTheCacheCountsAsNone() throws Exception {
    byte[] whole = Files.readAllBytes(folder.resolve("newest.kept"));
    Map<String, byte[]> wrong =
        Map.of(
            "empty", new byte[0],
            "short", Arrays.copyOf(whole, whole.length - 1),
            "long", Arrays.copyOf(whole, whole.length + 1),
            "header", Arrays.copyOf(whole, 15),
            "zeros", new byte[whole.length]);
    for (Map.Entry<String, byte[]> file : wrong.entrySet()) {
      Files.write(folder.resolve(file.getKey() + ".kept"), file.getValue());
      assertThat(cache.get(file.getKey())).as(file.getKey()).isEmpty();
    }
    for (int at = 0; at < whole.length; at++) {
      byte[] damaged = whole.clone();
      damaged[at]++;
      Files.write(folder.resolve("damaged.kept"), damaged);
      assertThat(cache.get("damaged")).as("byte " + at).isEmpty();
    }
    Files.createDirectory(folder.resolve("folder.kept"));
    assertThat(cache.get("folder")).isEmpty();
    try (RandomAccessFile huge = new RandomAccessFile(folder.resolve("huge.kept").toFile(), "rw")) {
      huge.setLength(1L << 32);
    }
    assertThat(cache.get("huge")).as("more bytes than an array has").isEmpty();
  }

  @Test
  void cachesAreWhereTheSystemHasThemUnlessTheUserNamesAFolder() {
    Path home = Path.of("/home/me");
    Map<String, String> none = Map.of();
    Map<String, String> local = Map.of("LOCALAPPDATA", "/local");
    Map<String, String> named = Map.of("XDG_CACHE_HOME", "/caches", "LOCALAPPDATA", "/local");
    assertThat(CacheFolder.named("cuda", none, home, OperatingSystem.LINUX).path())
        .isEqualTo(Path.of("/home/me/.cache/tidepool/cuda"));
    assertThat(CacheFolder.named("cuda", none, home, OperatingSystem.MACOS).path())
        .isEqualTo(Path.of("/home/me/Library/Caches/tidepool/cuda"));
    assertThat(CacheFolder.named("cuda", local, home, OperatingSystem.WINDOWS).path())
        .isEqualTo(Path.of("/local/tidepool/cuda"));
    assertThat(CacheFolder.named("cuda", none, home, OperatingSystem.WINDOWS).path())
        .isEqualTo(Path.of("/home/me/AppData/Local/tidepool/cuda"));
    for (OperatingSystem system : OperatingSystem.values()) {
      assertThat(CacheFolder.named("cuda", named, home, system).path())
          .isEqualTo(Path.of("/caches/tidepool/cuda"));
      assertThat(CacheFolder.named("cuda", none, Path.of("?"), system).path()).isNull();
    }
  }
}

package dev.tidepool.host;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a cache deletes. */
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
  void filesOfOthersAreNeitherCountedNorDeleted() throws Exception {
    List<Path> others = many(".txt");
    others.add(Files.createDirectory(folder.resolve("folder.kept")));
    cache.put("another", new byte[] {2});
    assertThat(others).allMatch(Files::exists);
    assertThat(cache.get("newest")).hasValue(new byte[] {1});
  }
}

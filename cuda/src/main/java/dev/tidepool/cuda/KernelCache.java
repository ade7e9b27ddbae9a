package dev.tidepool.cuda;

import dev.tidepool.host.CacheFolder;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Compiled kernels on disk, in a folder that only its owner may enter: a user that can write there
 * decides what runs on the device.
 *
 * @param folder null keeps nothing
 */
record KernelCache(@Nullable Path folder) {
  /** Returns the cache in the folder that the settings name, or in the user's cache folder. */
  static KernelCache ofThisUser() {
    return of(Settings.cache(), System.getenv(), Path.of(System.getProperty("user.home", "?")));
  }

  static KernelCache of(Optional<String> named, Map<String, String> environment, Path home) {
    if (named.isPresent() && named.get().equals("none")) {
      return new KernelCache(null);
    }
    return new KernelCache(
        named.isPresent()
            ? Path.of(named.get())
            : CacheFolder.named("cuda", environment, home).path());
  }

  /** Returns what was kept under a key, if it is whole. */
  Optional<byte[]> get(String key) {
    return new CacheFolder(folder).get(key);
  }

  void put(String key, byte[] code) {
    new CacheFolder(folder).put(key, code);
  }
}

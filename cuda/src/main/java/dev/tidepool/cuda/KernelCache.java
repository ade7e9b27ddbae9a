package dev.tidepool.cuda;

import dev.tidepool.host.CacheFolder;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Compiled kernels on disk, in a folder that only its owner may enter: users who can write there
 * control what runs on the device.
 *
 * @param folder null to keep nothing
 */
record KernelCache(@Nullable Path folder) {
  /** Returns the cache that the settings name, or the user's. */
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

  /** Returns the code kept under a key, if it is complete. */
  Optional<byte[]> get(String key) {
    return new CacheFolder(folder).get(key);
  }

  void put(String key, byte[] code) {
    new CacheFolder(folder).put(key, code);
  }
}

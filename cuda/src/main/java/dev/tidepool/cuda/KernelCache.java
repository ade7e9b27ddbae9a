package dev.tidepool.cuda;

import dev.tidepool.host.CacheFolder;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;

/** Finds the folder where compiled kernels are kept. */
final class KernelCache {
  private KernelCache() {}

  /** Returns the folder that the settings name, or the user's. */
  static CacheFolder ofThisUser() {
    return of(Settings.cache(), System.getenv(), Path.of(System.getProperty("user.home", "?")));
  }

  static CacheFolder of(Optional<String> named, Map<String, String> environment, Path home) {
    if (named.isEmpty()) {
      return CacheFolder.named("cuda", environment, home);
    }
    return new CacheFolder(named.get().equals("none") ? null : Path.of(named.get()));
  }
}

package dev.tidepool.host;

import dev.tidepool.host.system.ProcFiles;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The memory limit that Linux control groups set for this process, versions 1 and 2: inside a
 * container the machine's memory is not ours to use.
 *
 * @param limitBytes what the tightest group may use
 * @param freeBytes what is left of it; cached file contents count as free
 */
record Cgroup(long limitBytes, long freeBytes) {
  /** Version 1 says "no limit" with a number near the largest; so do some containers. */
  private static final long NO_LIMIT = 1L << 60;

  /** The names of the files that one version of control groups has. */
  private record Names(String limit, String usage, List<String> reclaimable) {}

  private static final Names V2 =
      new Names("memory.max", "memory.current", List.of("inactive_file", "active_file"));
  private static final Names V1 =
      new Names(
          "memory.limit_in_bytes",
          "memory.usage_in_bytes",
          List.of("total_inactive_file", "total_active_file"));

  /** The limit of this process; null if it has none. */
  static @Nullable Cgroup ofThisProcess() {
    return read(Path.of("/proc/self/cgroup"), Path.of("/sys/fs/cgroup"));
  }

  /**
   * The tightest limit of the groups that a membership file lists.
   *
   * @param membership such as {@code /proc/self/cgroup}
   * @param root where control groups are mounted
   */
  static @Nullable Cgroup read(Path membership, Path root) {
    Cgroup tightest = null;
    for (String line : ProcFiles.lines(membership)) {
      String[] parts = line.split(":", 3);
      if (parts.length < 3) {
        continue;
      }
      Cgroup found = null;
      if (parts[1].isEmpty()) {
        found = tightestOnTheWayUp(root, parts[2], V2);
      } else if (List.of(parts[1].split(",", -1)).contains("memory")) {
        found = tightestOnTheWayUp(root.resolve("memory"), parts[2], V1);
      }
      tightest = tighter(tightest, found);
    }
    return tightest;
  }

  /** A container may see its own group at the mount's root, whatever path its membership names. */
  private static @Nullable Cgroup tightestOnTheWayUp(Path root, String path, Names names) {
    Path base = root.normalize();
    Path folder = base.resolve(path.replaceFirst("^/+", "")).normalize();
    Cgroup tightest = null;
    while (folder != null && folder.startsWith(base)) {
      tightest = tighter(tightest, of(folder, names));
      folder = folder.getParent();
    }
    return tightest;
  }

  private static @Nullable Cgroup of(Path folder, Names names) {
    long limit = ProcFiles.number(folder.resolve(names.limit), -1);
    if (limit < 0 || limit >= NO_LIMIT || !Files.exists(folder.resolve(names.usage))) {
      return null;
    }
    long used = ProcFiles.number(folder.resolve(names.usage), 0);
    for (String line : ProcFiles.lines(folder.resolve("memory.stat"))) {
      String[] words = line.split("\\s+", -1);
      if (words.length == 2 && names.reclaimable.contains(words[0])) {
        used -= ProcFiles.parse(words[1], 0);
      }
    }
    return new Cgroup(limit, Math.clamp(limit - used, 0, limit));
  }

  private static @Nullable Cgroup tighter(@Nullable Cgroup a, @Nullable Cgroup b) {
    if (a == null || b == null) {
      return a == null ? b : a;
    }
    return new Cgroup(Math.min(a.limitBytes, b.limitBytes), Math.min(a.freeBytes, b.freeBytes));
  }
}

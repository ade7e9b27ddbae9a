package dev.tidepool.host;

import dev.tidepool.host.system.HeldFile;
import dev.tidepool.host.system.ProcFiles;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The memory limit that Linux control groups set for this process, versions 1 and 2. Inside a
 * container, the process may not use all memory of the machine.
 *
 * @param limitBytes the smallest limit of the groups
 * @param freeBytes the unused bytes of the limit; cached file contents count as free
 */
record Cgroup(long limitBytes, long freeBytes) {
  /** Version 1, and some containers, report "no limit" as a number near the largest one. */
  private static final long NO_LIMIT = 1L << 60;

  /** The file names in one version of control groups. */
  private record Names(String limit, String usage, List<String> reclaimable) {}

  private static final Names V2 =
      new Names("memory.max", "memory.current", List.of("inactive_file", "active_file"));
  private static final Names V1 =
      new Names(
          "memory.limit_in_bytes",
          "memory.usage_in_bytes",
          List.of("total_inactive_file", "total_active_file"));

  /** A group that can have a limit. */
  private record Group(HeldFile limit, HeldFile usage, HeldFile details, Names names) {
    Group(Path folder, Names names) {
      this(
          new HeldFile(folder.resolve(names.limit)),
          new HeldFile(folder.resolve(names.usage)),
          new HeldFile(folder.resolve("memory.stat")),
          names);
    }

    @Nullable Cgroup read() {
      long most = ProcFiles.parse(limit.text().strip(), -1);
      long used = most < 0 || most >= NO_LIMIT ? -1 : ProcFiles.parse(usage.text().strip(), -1);
      if (used < 0) {
        return null;
      }
      for (String line : details.text().lines().toList()) {
        String[] words = line.split("\\s+", -1);
        if (words.length == 2 && names.reclaimable.contains(words[0])) {
          used -= ProcFiles.parse(words[1], 0);
        }
      }
      return new Cgroup(most, Math.clamp(most - used, 0, most));
    }
  }

  /** Found once: a limit may change, but a running process is rarely moved to another group. */
  private static final class OfThisProcess {
    static final List<Group> GROUPS =
        groups(Path.of("/proc/self/cgroup"), Path.of("/sys/fs/cgroup"));
  }

  /** Returns the limit of this process, or null if it has none. */
  static @Nullable Cgroup ofThisProcess() {
    return tightest(OfThisProcess.GROUPS);
  }

  /**
   * Returns the tightest limit of the groups that a membership file lists.
   *
   * @param membership such as {@code /proc/self/cgroup}
   * @param root where control groups are mounted
   */
  static @Nullable Cgroup read(Path membership, Path root) {
    return tightest(groups(membership, root));
  }

  private static List<Group> groups(Path membership, Path root) {
    List<Group> groups = new ArrayList<>();
    for (String line : ProcFiles.lines(membership)) {
      String[] parts = line.split(":", 3);
      if (parts.length < 3) {
        continue;
      }
      if (parts[1].isEmpty()) {
        addOnTheWayUp(root, parts[2], V2, groups);
      } else if (List.of(parts[1].split(",", -1)).contains("memory")) {
        addOnTheWayUp(root.resolve("memory"), parts[2], V1, groups);
      }
    }
    return List.copyOf(groups);
  }

  /** Adds the groups from a path up to the root, where a container may see its own group. */
  private static void addOnTheWayUp(Path root, String path, Names names, List<Group> groups) {
    Path base = root.normalize();
    Path folder = base.resolve(path.replaceFirst("^/+", "")).normalize();
    while (folder != null && folder.startsWith(base)) {
      if (Files.exists(folder.resolve(names.limit))) {
        groups.add(new Group(folder, names));
      }
      folder = folder.getParent();
    }
  }

  private static @Nullable Cgroup tightest(List<Group> groups) {
    Cgroup tightest = null;
    for (Group group : groups) {
      tightest = tighter(tightest, group.read());
    }
    return tightest;
  }

  private static @Nullable Cgroup tighter(@Nullable Cgroup a, @Nullable Cgroup b) {
    if (a == null || b == null) {
      return a == null ? b : a;
    }
    return new Cgroup(Math.min(a.limitBytes, b.limitBytes), Math.min(a.freeBytes, b.freeBytes));
  }
}

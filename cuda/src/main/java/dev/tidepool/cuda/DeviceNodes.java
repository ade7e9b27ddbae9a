package dev.tidepool.cuda;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * The files through which Linux gives a process access to the driver. The driver answers alike
 * whether a card is absent or this process may not open it. These files are therefore checked if
 * the driver finds no device.
 *
 * @param folder the folder of the files
 * @param mayOpen whether this process may read and write a file
 */
record DeviceNodes(Path folder, Predicate<Path> mayOpen) {
  private static final Pattern NEEDED = Pattern.compile("nvidia(ctl|-uvm|\\d+)");

  /** Returns the device nodes of this system. */
  static DeviceNodes ofThisSystem() {
    return new DeviceNodes(
        Path.of("/dev"), node -> Files.isReadable(node) && Files.isWritable(node));
  }

  private List<Path> all() {
    return NvrtcPlaces.list(folder, "nvidia*").stream()
        .filter(node -> NEEDED.matcher(node.getFileName().toString()).matches())
        .toList();
  }

  /** Returns which files this process may not open, and the remedy; empty if it may open all. */
  String whyDenied() {
    String denied =
        all().stream()
            .filter(mayOpen.negate())
            .map(Path::toString)
            .collect(Collectors.joining(", "));
    return denied.isEmpty()
        ? ""
        : ": this user may not open "
            + denied
            + "; have the administrator allow it (often by the group video or render)";
  }

  /** Returns why the driver may have found no device, and the remedy. */
  String whyNone() {
    String denied = whyDenied();
    if (!denied.isEmpty()) {
      return denied;
    }
    return all().isEmpty()
        ? "; there is no "
            + folder.resolve("nvidia*")
            + ": without a card, or in a container that was given none (docker run --gpus all)"
        : "; CUDA_VISIBLE_DEVICES may hide it, or a container that was given no card";
  }
}

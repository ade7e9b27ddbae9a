package dev.tidepool.cli;

import com.google.gson.GsonBuilder;
import dev.tidepool.MemoryInfo;
import dev.tidepool.MemoryOptions;
import dev.tidepool.Tidepool;
import java.io.PrintStream;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code tidepool info}. */
@Command(
    name = "info",
    description = {
      "Show the accelerators, their memory, and what the platform offers.",
      "",
      "Says why a driver or a feature is missing. Free memory is marked as an estimate",
      "if the driver does not report it."
    },
    descriptionHeading = "%n",
    optionListHeading = "%nOptions:%n",
    footer = {
      "",
      "Examples:",
      "  tidepool info",
      "  tidepool info --json | jq -r '.accelerators[].id'"
    })
final class InfoCommand implements Callable<Integer> {
  private static final int COLUMNS = 80;
  private static final int INDENT = 14;

  private final TidepoolCommand parent;

  @Option(names = "--json", description = "Print JSON; sizes are bytes.")
  private boolean json;

  InfoCommand(TidepoolCommand parent) {
    this.parent = parent;
  }

  @Override
  public Integer call() {
    InfoReport report;
    try (Tidepool tidepool = Selection.everything(MemoryOptions.defaults())) {
      report = InfoReport.of(tidepool);
    }
    if (json) {
      parent
          .out()
          .println(
              new GsonBuilder()
                  .setPrettyPrinting()
                  .disableHtmlEscaping()
                  .serializeNulls()
                  .create()
                  .toJson(report));
    } else {
      print(report, parent.out());
    }
    return ExitStatus.DONE;
  }

  private static void print(InfoReport report, PrintStream out) {
    out.println("tidepool " + report.version());
    out.println();
    out.println("Accelerators");
    for (InfoReport.Device device : report.accelerators()) {
      MemoryInfo memory = device.memory();
      row(out, device.id(), device.name());
      row(out, "", device.kind() + ", " + device.driver());
      row(
          out,
          "",
          "%s free%s of %s, at most %s in one buffer"
              .formatted(
                  Figures.bytes(memory.freeBytes()),
                  memory.freeIsEstimate() ? " (estimate)" : "",
                  Figures.bytes(memory.totalBytes()),
                  Figures.bytes(device.maximumAllocationBytes())));
      row(out, "", String.join(", ", device.capabilities()));
    }
    row(out, "best", report.best() + ", taken where none is named");
    if (!report.peers().isEmpty()) {
      out.println();
      out.println("Peers");
      PeerMatrix.print(report.peers(), out);
    }
    out.println();
    out.println("Platform");
    print(report.platform(), out);
    if (!report.notes().isEmpty()) {
      out.println();
      out.println("Notes");
      report.notes().forEach(note -> wrapped(out, "  ", note));
    }
  }

  static void print(InfoReport.Platform platform, PrintStream out) {
    row(out, "system", platform.system() + ", " + platform.architecture());
    String model = platform.processor() == null ? "model not told" : platform.processor();
    row(out, "processor", model + ", " + Figures.count(platform.processors(), "thread"));
    row(out, "Java", platform.java());
    row(out, "pages", Figures.bytes(platform.pageBytes()) + "; " + transparent(platform));
    row(out, "huge pages", explicit(platform));
    row(out, "NUMA", numa(platform));
    row(out, "page locking", locking(platform));
    row(out, "shared memory", platform.sharedMemory());
    if (!platform.addressMap()) {
      row(
          out,
          "address map",
          "absent: wrapped memory is not page-locked, and blocks do not tell their pages");
    }
    if (!platform.nativeAllocation()) {
      row(out, "allocation", "by Java: the system's allocator was not found");
    }
  }

  private static String transparent(InfoReport.Platform platform) {
    return platform.transparentHugePageBytes() == 0
        ? "no transparent huge pages"
        : "transparent huge pages of "
            + Figures.bytes(platform.transparentHugePageBytes())
            + (platform.transparentHugePages() == null
                ? ""
                : " (" + platform.transparentHugePages() + ")");
  }

  private static String explicit(InfoReport.Platform platform) {
    return platform.explicitHugePages().isEmpty()
        ? "the system has none to set aside"
        : platform.explicitHugePages().stream()
            .map(
                size ->
                    Figures.bytes(size.pageBytes())
                        + ": "
                        + (size.reserved() == 0
                            ? "none set aside"
                            : Figures.count(size.free())
                                + " of "
                                + Figures.count(size.reserved())
                                + " set aside are free"))
            .collect(Collectors.joining("; "));
  }

  private static String numa(InfoReport.Platform platform) {
    List<Integer> nodes = platform.numaNodes();
    String numbers = nodes.stream().map(String::valueOf).collect(Collectors.joining(", "));
    return Figures.count(nodes.size(), "node")
        + " ("
        + numbers
        + "); "
        + (platform.numaPolicies()
            ? "policies available"
            : "policies absent or forbidden: memory comes from any node");
  }

  private static String locking(InfoReport.Platform platform) {
    if (!platform.pageLocking()) {
      return "refused by the system: pinned memory becomes plain memory";
    }
    return platform.lockLimitBytes() == null
        ? "available, no limit"
        : "available, up to "
            + Figures.bytes(platform.lockLimitBytes())
            + (platform.lockLimitSetting() == null ? "" : " (" + platform.lockLimitSetting() + ")");
  }

  private static void row(PrintStream out, String key, String value) {
    wrapped(out, "  " + key + " ".repeat(Math.max(1, INDENT - key.length())), value);
  }

  /** Prints a value behind a key, with long values continued on indented lines. */
  private static void wrapped(PrintStream out, String key, String value) {
    StringBuilder line = new StringBuilder(key);
    boolean empty = true;
    for (String word : value.split(" ", -1)) {
      if (!empty && line.length() + 1 + word.length() > COLUMNS) {
        out.println(line);
        line.setLength(0);
        line.append(" ".repeat(key.length()));
        empty = true;
      }
      line.append(empty ? "" : " ").append(word);
      empty = false;
    }
    out.println(line);
  }
}

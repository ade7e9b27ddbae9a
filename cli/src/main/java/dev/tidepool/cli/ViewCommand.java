package dev.tidepool.cli;

import dev.tidepool.diagnostics.SnapshotPage;
import dev.tidepool.spi.support.FilePermissions;
import java.io.IOException;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code tidepool view}. */
@Command(
    name = "view",
    description = {
      "Make one HTML page of a snapshot of a program's memory.",
      "",
      "It shows memory over time by tag, every block to scale, and where it was",
      "allocated.",
      "",
      "The page needs no network. A program writes snapshots with",
      "memory.snapshot().writeTo(file), or by itself when memory runs out, with the",
      "option dump-directory."
    },
    descriptionHeading = "%n",
    parameterListHeading = "%nArguments:%n",
    optionListHeading = "%nOptions:%n",
    footer = {"", "Example:", "  tidepool view snapshot.json -o snapshot.html"})
final class ViewCommand implements Callable<Integer> {
  private final TidepoolCommand parent;

  @Parameters(paramLabel = "SNAPSHOT", description = "The snapshot, a JSON file.")
  private Path snapshot = Path.of("");

  @Option(
      names = {"-o", "--output"},
      paramLabel = "FILE",
      description = "The page. Default: the snapshot's name ending in .html.")
  private Path output = Path.of("");

  @Option(names = "--force", description = "Replace an existing page; it keeps its access rights.")
  private boolean force;

  ViewCommand(TidepoolCommand parent) {
    this.parent = parent;
  }

  @Override
  public Integer call() throws IOException {
    String page = SnapshotPage.of(SnapshotFile.read(snapshot));
    Path target = output.toString().isEmpty() ? besideSnapshot() : output;
    // Only the owner may read the page, like snapshots: tags and stacks reveal program details.
    try (OutputFile file =
        OutputFile.begin(target, snapshot, force, FilePermissions.ownerOnly(target))) {
      file.write(page);
    }
    parent.out().println(target);
    return ExitStatus.DONE;
  }

  private Path besideSnapshot() {
    String name = snapshot.getFileName().toString();
    String stem = name.endsWith(".json") ? name.substring(0, name.length() - 5) : name;
    return snapshot.resolveSibling(stem + ".html");
  }
}

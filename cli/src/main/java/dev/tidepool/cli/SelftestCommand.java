package dev.tidepool.cli;

import dev.tidepool.Accelerator;
import dev.tidepool.MemoryOptions;
import dev.tidepool.Tidepool;
import java.io.PrintStream;
import java.util.List;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code tidepool selftest}. */
@Command(
    name = "selftest",
    description = {
      "Check this machine's accelerators, and measure how fast they move bytes.",
      "",
      "Runs the conformance suite, which says what an accelerator promises, over each",
      "of them: what to run on a new machine. Takes a minute or so each."
    },
    descriptionHeading = "%n",
    optionListHeading = "%nOptions:%n",
    footer = {
      "",
      "Exit status: 0 if every test passed, 1 if one failed.",
      "",
      "Examples:",
      "  tidepool selftest",
      "  tidepool selftest --device cpu:0"
    })
final class SelftestCommand implements Callable<Integer> {
  private final TidepoolCommand parent;

  @Option(
      names = "--device",
      paramLabel = "ID",
      description = "Only this accelerator, by its id in 'tidepool info'.")
  private @Nullable String device;

  SelftestCommand(TidepoolCommand parent) {
    this.parent = parent;
  }

  @Override
  public Integer call() {
    PrintStream out = parent.out();
    boolean passed = true;
    for (Subject found : accelerators()) {
      String id = found.id();
      out.println(id + "  " + found.name());
      passed &= Conformance.run(id, out, parent.debug());
      try (Selection selection = Selection.open(id, MemoryOptions.defaults())) {
        new BandwidthTable(selection.tidepool().memory(selection.accelerator()), out).print();
      }
      out.println();
    }
    return passed ? ExitStatus.DONE : ExitStatus.FAILED;
  }

  /** What a line says of an accelerator, which closes before its tests begin. */
  private record Subject(String id, String name) {
    static Subject of(Accelerator accelerator) {
      return new Subject(accelerator.id(), accelerator.name());
    }
  }

  private List<Subject> accelerators() {
    if (device != null) {
      try (Selection selection = Selection.open(device, MemoryOptions.defaults())) {
        return List.of(Subject.of(selection.accelerator()));
      }
    }
    try (Tidepool tidepool = Tidepool.open()) {
      return tidepool.accelerators().stream().map(Subject::of).toList();
    }
  }
}

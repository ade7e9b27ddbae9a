package dev.tidepool.cli;

import dev.tidepool.Accelerator;
import dev.tidepool.MemoryOptions;
import dev.tidepool.Tidepool;
import dev.tidepool.spi.support.FailureText;
import dev.tidepool.testkit.CompilerProbe;
import dev.tidepool.testkit.RandomWorkload;
import java.io.PrintStream;
import java.util.List;
import java.util.Optional;
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
      "Runs the conformance suite on each accelerator, a minute or so for each.",
      "Run it first on a new machine.",
      "",
      "With --random, four threads then do random work on many buffers, and compare",
      "every byte that they read with the expected one."
    },
    descriptionHeading = "%n",
    optionListHeading = "%nOptions:%n",
    footer = {
      "",
      "Exit status: 0 if every test passed, 1 if one failed.",
      "",
      "Examples:",
      "  tidepool selftest",
      "  tidepool selftest --device cpu:0",
      "  tidepool selftest --device cuda:0 --random 20000"
    })
final class SelftestCommand implements Callable<Integer> {
  private static final int THREADS = 4;

  private final TidepoolCommand parent;

  @Option(
      names = "--device",
      paramLabel = "ID",
      description = "Check only this accelerator, by its id in 'tidepool info'.")
  private @Nullable String device;

  @Option(
      names = "--random",
      paramLabel = "OPERATIONS",
      description = "The number of random operations. Default: none.")
  private int random;

  SelftestCommand(TidepoolCommand parent) {
    this.parent = parent;
  }

  @Override
  public Integer call() {
    if (random < 0) {
      throw new WrongArguments("--random " + random + ": give a number of operations");
    }
    PrintStream out = parent.out();
    boolean passed = true;
    for (Subject found : accelerators()) {
      String id = found.id();
      out.println(id + "  " + found.name());
      passed &= Conformance.run(id, out, parent.debug());
      try (Selection selection = Selection.open(id, MemoryOptions.defaults())) {
        Optional<String> noCompiler = CompilerProbe.whyNone(selection.accelerator());
        noCompiler.ifPresent(why -> out.println("  WITHOUT KERNELS: " + why));
        passed &= random == 0 || Conformance.quietly(() -> randomWork(selection.tidepool(), id));
        new BandwidthTable(selection.tidepool().memory(selection.accelerator()), out)
            .print(noCompiler.isEmpty());
      }
      out.println();
    }
    return passed ? ExitStatus.DONE : ExitStatus.FAILED;
  }

  /** Runs random operations on all accelerators, which includes copies between them. */
  private boolean randomWork(Tidepool tidepool, String id) {
    PrintStream out = parent.out();
    long start = System.nanoTime();
    try {
      RandomWorkload workload = new RandomWorkload(tidepool, id).threads(THREADS);
      boolean kernels =
          tidepool.accelerators().stream().map(CompilerProbe::whyNone).allMatch(Optional::isEmpty);
      long elements = (kernels ? workload : workload.withoutKernels()).operations(random).run();
      out.println(
          "  %s random operations, %s elements read as they should be, in %s"
              .formatted(
                  Figures.count(random),
                  Figures.count(elements),
                  Figures.time(System.nanoTime() - start)));
      return true;
    } catch (AssertionError failure) {
      out.println("  FAILED random operations " + FailureText.of(failure));
      return false;
    }
  }

  /** The id and name of an accelerator, which is closed before its tests begin. */
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
    try (Tidepool tidepool = Selection.everything(MemoryOptions.defaults())) {
      return tidepool.accelerators().stream().map(Subject::of).toList();
    }
  }
}

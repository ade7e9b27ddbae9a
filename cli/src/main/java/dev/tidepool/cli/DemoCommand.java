package dev.tidepool.cli;

import dev.tidepool.Accelerator;
import dev.tidepool.MemoryOptions;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.diagnostics.DiagnosticsLevel;
import dev.tidepool.testkit.CompilerProbe;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code tidepool demo}. */
@Command(
    name = "demo",
    description = {
      "Show on generated data what Tidepool does on every accelerator present.",
      "",
      "Each line compares Tidepool with what a program would do otherwise, measured",
      "now. If that is clearly faster, the next line says why. Results are verified.",
      "Takes a few seconds.",
      "",
      "With --serve, shows the memory of a training program in a browser instead, until",
      "you stop it: memory over time, every block, and where it was allocated. The",
      "program has a leak to find."
    },
    descriptionHeading = "%n",
    optionListHeading = "%nOptions:%n",
    footer = {"", "Examples:", "  tidepool demo", "  tidepool demo --serve 8080"})
final class DemoCommand implements Callable<Integer> {
  private static final int LAST_PORT = 65_535;
  private static final int HISTORY = 100_000;
  private static final String LOOPBACK = "localhost";

  private final TidepoolCommand parent;

  @Option(
      names = "--serve",
      paramLabel = "PORT",
      description = "Show a program's memory live on this port; 0 selects a free one.")
  private @Nullable Integer port;

  @Option(
      names = "--host",
      paramLabel = "HOST",
      description =
          "The name or address to listen on. Default: localhost, which only this machine reaches."
              + " Every program that reaches another address can read the memory of the demo.")
  private String host = LOOPBACK;

  DemoCommand(TidepoolCommand parent) {
    this.parent = parent;
  }

  @Override
  public Integer call() throws InterruptedException {
    if (port != null) {
      return serve(port);
    }
    if (!host.equals(LOOPBACK)) {
      throw new WrongArguments("--host " + host + " needs --serve PORT");
    }
    TimeTable table = new TimeTable(parent.out(), Terminal.likesColour());
    boolean right = true;
    try (Tidepool tidepool = Selection.everything(MemoryOptions.defaults())) {
      table.line("Measured now: what Tidepool takes, and what the same work takes otherwise.");
      table.line("");
      for (Accelerator accelerator : tidepool.accelerators()) {
        Optional<String> noCompiler = CompilerProbe.whyNone(accelerator);
        if (noCompiler.isPresent()) {
          table.title(accelerator.id() + "  " + accelerator.name());
          table.line("  WITHOUT KERNELS: " + noCompiler.get());
          table.line("");
          continue;
        }
        right &= new Tour(tidepool.memory(accelerator), table).run();
      }
    }
    return right ? ExitStatus.DONE : ExitStatus.FAILED;
  }

  /** Serves until an interrupt ends the process. */
  private int serve(int port) throws InterruptedException {
    if (port < 0 || port > LAST_PORT) {
      throw new WrongArguments("--serve " + port + ": ports are 1 to " + LAST_PORT + ", 0 for any");
    }
    MemoryOptions options =
        MemoryOptions.builder().diagnostics(DiagnosticsLevel.SITES).history(HISTORY).build();
    try (Tidepool tidepool = Selection.everything(options)) {
      UnifiedMemoryManager memory = tidepool.memory();
      try (PageServer server = new PageServer(host, port, () -> memory.snapshot().toJson());
          TidalProgram program = new TidalProgram(memory)) {
        program.start();
        parent.out().println(server.url() + " shows a program's memory; Ctrl-C ends it");
        parent.out().flush();
        program.await();
      }
    }
    return ExitStatus.DONE;
  }
}

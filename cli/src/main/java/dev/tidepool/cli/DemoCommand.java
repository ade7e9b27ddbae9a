package dev.tidepool.cli;

import dev.tidepool.Accelerator;
import dev.tidepool.Tidepool;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;

/** {@code tidepool demo}. */
@Command(
    name = "demo",
    description = {
      "Show on generated data what Tidepool does on every accelerator present.",
      "",
      "Each line is measured now, the naive way beside it. Results are verified. Takes",
      "a few seconds."
    },
    descriptionHeading = "%n",
    optionListHeading = "%nOptions:%n",
    footer = {"", "Example:", "  tidepool demo"})
final class DemoCommand implements Callable<Integer> {
  private final TidepoolCommand parent;

  DemoCommand(TidepoolCommand parent) {
    this.parent = parent;
  }

  @Override
  public Integer call() {
    Board board = new Board(parent.out(), Terminal.likesColour());
    boolean right = true;
    board.line("Measured now: what Tidepool takes, and what the same work takes the naive way.");
    board.line("");
    try (Tidepool tidepool = Tidepool.open()) {
      for (Accelerator accelerator : tidepool.accelerators()) {
        right &= new Tour(tidepool.memory(accelerator), board).run();
      }
    }
    return right ? ExitStatus.DONE : ExitStatus.FAILED;
  }
}

package dev.tidepool.cli;

import dev.tidepool.stream.StreamProgress;
import java.io.PrintStream;
import java.util.function.BooleanSupplier;
import me.tongfei.progressbar.ConsoleProgressBarConsumer;
import me.tongfei.progressbar.ProgressBar;
import me.tongfei.progressbar.ProgressBarBuilder;
import me.tongfei.progressbar.ProgressBarStyle;
import org.jspecify.annotations.Nullable;

/**
 * Shows a person how far a long run is. Runs that end within a second show nothing, nor do those
 * whose error stream is no terminal; neither loads the library that draws. For one thread.
 */
final class Progress implements StreamProgress, AutoCloseable {
  private static final long PATIENCE_NANOS = 1_000_000_000;
  private static final int COLUMNS = 79;

  private final PrintStream err;
  private final long patienceNanos;
  private final BooleanSupplier isTerminal;
  private final long start = System.nanoTime();
  private @Nullable Bar bar;
  private boolean silent;

  /** Progress of a run that begins now. */
  Progress(PrintStream err) {
    this(err, PATIENCE_NANOS, Terminal::showsErrors);
  }

  /**
   * Progress with another patience.
   *
   * @param isTerminal whether a person reads {@code err}; asked once, when patience ends
   */
  Progress(PrintStream err, long patienceNanos, BooleanSupplier isTerminal) {
    this.err = err;
    this.patienceNanos = patienceNanos;
    this.isTerminal = isTerminal;
  }

  @Override
  public void moved(long done, long total) {
    if (bar == null && !silent && System.nanoTime() - start > patienceNanos && done < total) {
      silent = !isTerminal.getAsBoolean();
      bar = silent ? null : new Bar(err, total);
    }
    if (bar != null) {
      bar.moved(done);
    }
  }

  /** Takes the bar off the screen. */
  @Override
  public void close() {
    if (bar != null) {
      bar.close();
      bar = null;
    }
  }

  /** Loaded when it is first drawn. */
  private static final class Bar {
    private final PrintStream err;
    private final ProgressBar drawn;

    Bar(PrintStream err, long total) {
      this.err = err;
      drawn =
          new ProgressBarBuilder()
              .setTaskName("eval")
              .setInitialMax(total)
              .setUnit(" MiB", 1 << 20)
              .setStyle(ProgressBarStyle.ASCII)
              .setUpdateIntervalMillis(200)
              .setConsumer(new Line(err))
              .showSpeed()
              .build();
    }

    void moved(long done) {
      drawn.stepTo(done);
    }

    void close() {
      drawn.close();
      // The library's own clearing is left out when the first drawing was the last.
      err.print("\r" + " ".repeat(COLUMNS) + "\r");
      err.flush();
    }
  }

  /** One line of the terminal, without the empty one that the library adds at the end. */
  private static final class Line extends ConsoleProgressBarConsumer {
    private final PrintStream err;

    Line(PrintStream err) {
      super(err, COLUMNS);
      this.err = err;
    }

    @Override
    public void close() {
      err.flush();
    }
  }
}

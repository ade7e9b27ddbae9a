package dev.tidepool.cli;

import dev.tidepool.stream.StreamProgress;
import java.io.PrintStream;
import java.time.Duration;
import java.util.function.BooleanSupplier;
import java.util.function.IntSupplier;
import me.tongfei.progressbar.ConsoleProgressBarConsumer;
import me.tongfei.progressbar.ProgressBar;
import me.tongfei.progressbar.ProgressBarBuilder;
import me.tongfei.progressbar.ProgressBarStyle;
import org.jspecify.annotations.Nullable;

/**
 * Shows the progress of a long run to a person. A run that ends within a second shows nothing, and
 * neither does a run whose error stream is not a terminal; such runs do not load the library that
 * draws. For one thread, except for {@link #isDrawn}.
 */
final class Progress implements StreamProgress, AutoCloseable {
  private static final long PATIENCE_NANOS = 1_000_000_000;
  private static final int COLUMNS = 80;
  private static final int FEWEST_COLUMNS = 20;

  private final PrintStream err;
  private final long patienceNanos;
  private final BooleanSupplier isTerminal;
  private final IntSupplier columns;
  private final long start = System.nanoTime();
  private volatile @Nullable Bar bar;
  private boolean silent;

  /** Creates the progress of a run that begins now. */
  Progress(PrintStream err) {
    this(err, PATIENCE_NANOS, Terminal::showsErrors, Terminal::columns);
  }

  /**
   * Creates a progress with another delay.
   *
   * @param isTerminal whether a person reads {@code err}; called once, after the delay
   * @param columns the width of the terminal, 0 if unknown; called once, after {@code isTerminal}
   */
  Progress(PrintStream err, long patienceNanos, BooleanSupplier isTerminal, IntSupplier columns) {
    this.err = err;
    this.patienceNanos = patienceNanos;
    this.isTerminal = isTerminal;
    this.columns = columns;
  }

  @Override
  public void moved(long done, long total) {
    Bar shown = bar;
    long elapsed = System.nanoTime() - start;
    if (shown == null && !silent && elapsed > patienceNanos && done < total) {
      silent = !isTerminal.getAsBoolean();
      shown = silent ? null : new Bar(err, width(), done, total, elapsed);
      bar = shown;
    }
    if (shown != null) {
      shown.moved(done, elapsed);
    }
  }

  /** Returns whether the bar is on the screen. Any thread may call this. */
  boolean isDrawn() {
    return bar != null;
  }

  /** Returns the mean rate of the whole run, in whole MiB per second. */
  static String rate(long bytes, long nanos) {
    return Math.round(bytes / (nanos / 1e9) / (1 << 20)) + " MiB/s";
  }

  /** Returns one column less than there are, because some terminals wrap after the last one. */
  private int width() {
    int told = columns.getAsInt();
    return Math.clamp(told == 0 ? COLUMNS : told, FEWEST_COLUMNS, COLUMNS) - 1;
  }

  /** Removes the bar from the screen. */
  @Override
  public void close() {
    Bar shown = bar;
    if (shown != null) {
      shown.close();
      bar = null;
    }
  }

  /** A class of its own, so that the library is loaded only when a bar is drawn. */
  private static final class Bar {
    private final PrintStream err;
    private final int width;
    private final ProgressBar drawn;

    Bar(PrintStream err, int width, long done, long total, long elapsedNanos) {
      this.err = err;
      this.width = width;
      drawn =
          new ProgressBarBuilder()
              .setTaskName("eval")
              .setInitialMax(total)
              .startsFrom(done, Duration.ofNanos(elapsedNanos))
              .setUnit(" MiB", 1 << 20)
              .setStyle(ProgressBarStyle.ASCII)
              .setUpdateIntervalMillis(200)
              .setConsumer(new Line(err, width))
              .build();
      drawn.setExtraMessage(rate(done, elapsedNanos));
    }

    void moved(long done, long elapsedNanos) {
      // The library would compute the speed from whole seconds since the first drawing.
      drawn.setExtraMessage(rate(done, elapsedNanos));
      drawn.stepTo(done);
    }

    void close() {
      drawn.close();
      // The library does not clear the bar if the first drawing was the last.
      err.print("\r" + " ".repeat(width) + "\r");
      err.flush();
    }
  }

  /** One line of the terminal, without the empty line that the library adds at the end. */
  private static final class Line extends ConsoleProgressBarConsumer {
    private final PrintStream err;

    Line(PrintStream err, int width) {
      super(err, width);
      this.err = err;
    }

    @Override
    public void close() {
      err.flush();
    }
  }
}

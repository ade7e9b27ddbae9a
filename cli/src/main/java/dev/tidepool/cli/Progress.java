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
 * Shows a person how far a long run is. Runs that end within a second show nothing, nor do those
 * whose error stream is no terminal; neither loads the library that draws. For one thread, except
 * for {@link #isDrawn}.
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

  /** Progress of a run that begins now. */
  Progress(PrintStream err) {
    this(err, PATIENCE_NANOS, Terminal::showsErrors, Terminal::columns);
  }

  /**
   * Progress with another patience.
   *
   * @param isTerminal whether a person reads {@code err}; asked once, when patience ends
   * @param columns how wide that terminal is, 0 if that is not known; asked once, after that
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

  /** Returns whether the bar is on the screen. For any thread. */
  boolean isDrawn() {
    return bar != null;
  }

  /** Bytes for each second of the whole run, in whole MiB. */
  static String rate(long bytes, long nanos) {
    return Math.round(bytes / (nanos / 1e9) / (1 << 20)) + " MiB/s";
  }

  /** One column less than there are: in the last one some terminals begin a new line. */
  private int width() {
    int told = columns.getAsInt();
    return Math.clamp(told == 0 ? COLUMNS : told, FEWEST_COLUMNS, COLUMNS) - 1;
  }

  /** Takes the bar off the screen. */
  @Override
  public void close() {
    Bar shown = bar;
    if (shown != null) {
      shown.close();
      bar = null;
    }
  }

  /** Loaded when it is first drawn. */
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
      // The library's own speed is of whole seconds, since the bar was drawn first.
      drawn.setExtraMessage(rate(done, elapsedNanos));
      drawn.stepTo(done);
    }

    void close() {
      drawn.close();
      // The library's own clearing is left out when the first drawing was the last.
      err.print("\r" + " ".repeat(width) + "\r");
      err.flush();
    }
  }

  /** One line of the terminal, without the empty one that the library adds at the end. */
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

package dev.tidepool.cli;

import dev.tidepool.spi.support.ExitAction;
import java.io.PrintStream;

/** Says, when Ctrl-C or a signal ends a run that can be resumed, that its work is kept. */
final class KeptWork implements AutoCloseable {
  private final ExitAction notice;

  private KeptWork(ExitAction notice) {
    this.notice = notice;
  }

  /**
   * Tells it from now until the close.
   *
   * @param progress whose bar takes a line of its own on the same stream, if it is drawn
   */
  static KeptWork tell(Progress progress, PrintStream err) {
    ExitAction notice =
        new ExitAction(
            "tidepool-kept-work",
            () ->
                err.println(
                    (progress.isDrawn() ? System.lineSeparator() : "")
                        + "tidepool: stopped; what is done is kept beside the results, and the same"
                        + " line with --resume goes on"));
    notice.register();
    return new KeptWork(notice);
  }

  @Override
  public void close() {
    notice.unregister();
  }
}

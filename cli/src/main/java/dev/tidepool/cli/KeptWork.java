package dev.tidepool.cli;

import dev.tidepool.spi.support.ExitAction;
import java.io.PrintStream;

/** Prints that the work is kept if Ctrl-C or a signal ends a resumable run. */
final class KeptWork implements AutoCloseable {
  private final ExitAction notice;

  private KeptWork(ExitAction notice) {
    this.notice = notice;
  }

  /**
   * Enables the message until the close.
   *
   * @param progress the progress whose bar may occupy a line of the same stream
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

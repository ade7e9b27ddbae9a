package dev.tidepool.interop;

import java.lang.ref.Cleaner;

/** Exports that became unreachable without an end. */
final class ForgottenExports {
  private static final System.Logger LOG = System.getLogger("dev.tidepool");
  private static final Cleaner CLEANER = Cleaner.create();

  private ForgottenExports() {}

  /**
   * Has something looked at when an export is unreachable.
   *
   * @param look does not refer to the export
   */
  static void watch(Object export, Runnable look) {
    CLEANER.register(export, look);
  }

  static void report(String text) {
    LOG.log(System.Logger.Level.WARNING, text);
  }
}

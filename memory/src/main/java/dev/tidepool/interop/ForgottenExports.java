package dev.tidepool.interop;

import java.lang.ref.Cleaner;

/** Detects exports that became unreachable without being released. */
final class ForgottenExports {
  private static final System.Logger LOG = System.getLogger("dev.tidepool");
  private static final Cleaner CLEANER = Cleaner.create();

  private ForgottenExports() {}

  /**
   * Registers a check that runs when an export is unreachable.
   *
   * @param look the check; must not refer to the export
   * @return an object that the release of the export {@linkplain Cleaner.Cleanable#clean cleans},
   *     which runs the check and unregisters it
   */
  static Cleaner.Cleanable watch(Object export, Runnable look) {
    return CLEANER.register(export, look);
  }

  static void report(String text) {
    LOG.log(System.Logger.Level.WARNING, text);
  }
}

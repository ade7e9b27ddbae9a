package dev.tidepool.interop;

import java.lang.ref.Cleaner;

/** Exports that became unreachable without an end. */
final class ForgottenExports {
  private static final System.Logger LOG = System.getLogger("dev.tidepool");
  private static final Cleaner CLEANER = Cleaner.create();

  private ForgottenExports() {}

  /**
   * Registers a check that runs when an export is unreachable.
   *
   * @param look does not refer to the export
   * @return what the end of the export {@linkplain Cleaner.Cleanable#clean cleans}: it looks then,
   *     and the garbage collector has nothing to do for the export
   */
  static Cleaner.Cleanable watch(Object export, Runnable look) {
    return CLEANER.register(export, look);
  }

  static void report(String text) {
    LOG.log(System.Logger.Level.WARNING, text);
  }
}

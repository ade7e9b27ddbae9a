package dev.tidepool.runtime.context;

import java.util.function.Supplier;

/** The part of a session that its accelerators and transfers call. Compared by identity. */
public interface OpenSession {
  /**
   * Checks that the session is open.
   *
   * @throws IllegalStateException if it is closed
   */
  void checkOpen();

  /**
   * Runs a query of a device; closing waits for its result.
   *
   * @throws IllegalStateException if the session is closed
   */
  <T> T whileOpen(Supplier<T> question);
}

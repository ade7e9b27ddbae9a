package dev.tidepool.runtime.context;

import java.util.function.Supplier;

/** What the accelerators and the transfers of a session ask of it. Compared by identity. */
public interface OpenSession {
  /**
   * Checks that the session is open.
   *
   * @throws IllegalStateException if it is closed
   */
  void checkOpen();

  /**
   * Asks a device something; closing waits for the answer.
   *
   * @throws IllegalStateException if the session is closed
   */
  <T> T whileOpen(Supplier<T> question);
}

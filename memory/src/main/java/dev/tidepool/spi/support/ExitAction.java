package dev.tidepool.spi.support;

import org.jspecify.annotations.Nullable;

/**
 * An action that the virtual machine runs when it ends, as long as there is something to do. The
 * virtual machine keeps what it will run, and with it the class loader of this library: so the
 * action is registered only while it is needed.
 *
 * <p>Not safe for use by several threads; its user has a lock.
 */
public final class ExitAction {
  private final String name;
  private final Runnable action;
  private @Nullable Thread hook;

  /**
   * Creates an action that is not registered.
   *
   * @param name of the thread that runs it
   */
  public ExitAction(String name, Runnable action) {
    this.name = name;
    this.action = action;
  }

  /**
   * Registers the action, if it is not.
   *
   * @throws IllegalStateException if the virtual machine is ending already
   */
  public void register() {
    if (hook == null) {
      Thread thread = new Thread(action, name);
      Runtime.getRuntime().addShutdownHook(thread);
      hook = thread;
    }
  }

  /** Ends the registration. While the virtual machine ends this does nothing. */
  public void unregister() {
    Thread thread = hook;
    if (thread != null) {
      try {
        Runtime.getRuntime().removeShutdownHook(thread);
        hook = null;
      } catch (IllegalStateException ending) {
        // The action runs, or has run.
      }
    }
  }
}

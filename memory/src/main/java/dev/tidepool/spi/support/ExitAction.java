package dev.tidepool.spi.support;

import org.jspecify.annotations.Nullable;

/**
 * An action that the virtual machine runs when it shuts down. A registered action keeps the class
 * loader of this library reachable, so it is registered only while it is needed.
 *
 * <p>Not thread-safe; the user holds a lock.
 */
public final class ExitAction {
  private final String name;
  private final Runnable action;
  private @Nullable Thread hook;

  /**
   * Creates an action that is not registered.
   *
   * @param name the name of the thread that runs the action
   */
  public ExitAction(String name, Runnable action) {
    this.name = name;
    this.action = action;
  }

  /**
   * Registers the action if it is not registered.
   *
   * @throws IllegalStateException if the virtual machine is already shutting down
   */
  public void register() {
    if (hook == null) {
      Thread thread = new Thread(action, name);
      Runtime.getRuntime().addShutdownHook(thread);
      hook = thread;
    }
  }

  /** Unregisters the action. Does nothing while the virtual machine shuts down. */
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

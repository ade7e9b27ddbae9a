package dev.tidepool.spi.support;

import dev.tidepool.UnifiedMemoryManager;
import org.jspecify.annotations.Nullable;

/**
 * Learns which managers a thread opens, and of each when it begins to close. For leak checks of
 * tests, whose code opens managers where a check cannot see them.
 *
 * <p>An observer belongs to the thread that installed it and to the threads that are started while
 * it is installed. A manager keeps the observer of the thread that opened it, whichever thread
 * closes it.
 */
public interface ManagerObserver {
  /** A manager was opened. Called by the thread that opens it; must not block. */
  void opened(UnifiedMemoryManager manager);

  /**
   * A manager is about to close, and is open until this method returns. Called by the thread that
   * closes it.
   */
  void closing(UnifiedMemoryManager manager);

  /** Installs an observer for this thread and the threads that it starts; null for none. */
  static void install(@Nullable ManagerObserver observer) {
    if (observer == null) {
      Installed.OBSERVER.remove();
    } else {
      Installed.OBSERVER.set(observer);
    }
  }

  /** Returns the observer of this thread; null if there is none. */
  static @Nullable ManagerObserver installed() {
    return Installed.OBSERVER.get();
  }

  /** Holds what an interface cannot hide. */
  final class Installed {
    private static final InheritableThreadLocal<@Nullable ManagerObserver> OBSERVER =
        new InheritableThreadLocal<>();

    private Installed() {}
  }
}

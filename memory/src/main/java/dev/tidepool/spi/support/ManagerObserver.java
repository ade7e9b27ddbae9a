package dev.tidepool.spi.support;

import dev.tidepool.UnifiedMemoryManager;
import org.jspecify.annotations.Nullable;

/**
 * Observes the managers that a thread opens, and when each begins to close. For leak checks in
 * tests, which cannot see all code that opens managers.
 *
 * <p>An observer belongs to the thread that installed it and to the threads that are started while
 * it is installed. A manager keeps the observer of the thread that opened it, whichever thread
 * closes it.
 */
public interface ManagerObserver {
  /** Called by the thread that opened a manager. Must not block. */
  void opened(UnifiedMemoryManager manager);

  /** Called by the thread that closes a manager. The manager is open until this method returns. */
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

  /** Holds the field, which an interface cannot make private. */
  final class Installed {
    private static final InheritableThreadLocal<@Nullable ManagerObserver> OBSERVER =
        new InheritableThreadLocal<>();

    private Installed() {}
  }
}

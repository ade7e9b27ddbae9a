package dev.tidepool.runtime.supply;

import dev.tidepool.host.ArenaKeepAlive;
import dev.tidepool.host.system.OwnMemory;
import dev.tidepool.spi.Device;
import dev.tidepool.spi.support.FailureLog;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * Page-locks memory of a caller in place, and keeps its arena open. If the memory were freed, a
 * driver would still treat its address as locked and read the old pages.
 */
final class PinnedRegistration {
  private PinnedRegistration() {}

  /** Returns the unlocking action, which throws nothing; null if the memory cannot be locked. */
  static @Nullable Runnable lock(
      Device device, PinnedReclaimer reclaimer, SessionResources resources, MemorySegment memory) {
    long bytes = memory.byteSize();
    if (bytes == 0 || !reclaimer.reserve(bytes)) {
      return null;
    }
    @Nullable ArenaKeepAlive held = null;
    @Nullable Runnable unlocking = null;
    try {
      held = ArenaKeepAlive.of(memory);
      // Memory of a mapped file may vanish, and is never passed to drivers. Checked while the arena
      // is kept open, so that the result stays true.
      if (OwnMemory.containsOrIsAnonymous(memory)) {
        unlocking = device.lock(memory);
      }
    } catch (UnsupportedOperationException e) {
      FailureLog.debug("wrapped memory stays as it is", e);
    } finally {
      if (unlocking == null) {
        letGo(held);
        reclaimer.freed(bytes);
      }
    }
    if (unlocking == null) {
      return null;
    }
    ArenaKeepAlive scope = held;
    Runnable driver = unlocking;
    @Nullable Runnable unlock = null;
    try {
      // Must not refer to the session, and therefore not to the budget.
      unlock = resources.foreign(() -> unlock(driver, scope));
      return unlockingOnce(unlock, reclaimer, bytes);
    } catch (Throwable e) {
      // The heap may be full.
      if (unlock != null) {
        resources.forget(unlock);
      }
      unlock(driver, scope);
      reclaimer.freed(bytes);
      throw e;
    }
  }

  private static Runnable unlockingOnce(Runnable unlock, PinnedReclaimer reclaimer, long bytes) {
    AtomicBoolean locked = new AtomicBoolean(true);
    return () -> {
      if (!locked.compareAndSet(true, false)) {
        return;
      }
      try {
        unlock.run();
      } finally {
        reclaimer.freed(bytes);
      }
    };
  }

  private static void unlock(Runnable driver, @Nullable ArenaKeepAlive held) {
    try {
      driver.run();
    } catch (RuntimeException | Error e) {
      FailureLog.warn("wrapped memory could not be unlocked", e);
    } finally {
      letGo(held);
    }
  }

  private static void letGo(@Nullable ArenaKeepAlive held) {
    if (held != null) {
      held.close();
    }
  }
}

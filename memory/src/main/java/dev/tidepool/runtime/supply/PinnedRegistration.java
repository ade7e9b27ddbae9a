package dev.tidepool.runtime.supply;

import dev.tidepool.host.ArenaKeepAlive;
import dev.tidepool.host.system.OwnMemory;
import dev.tidepool.spi.Device;
import dev.tidepool.spi.support.FailureLog;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * Memory of a caller, page-locked where it lies. A driver goes on taking an address for locked
 * after the memory is gone, and would read what lay there before: so its arena is held open
 * meanwhile.
 */
final class PinnedRegistration {
  private PinnedRegistration() {}

  /** Returns what unlocks it and throws nothing; null if it cannot be locked, or no more may be. */
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
      // What has a file behind it may vanish, and is never given to drivers. Asked while the scope
      // is held, so that the answer stays true.
      if (OwnMemory.containsOrIsAnonymous(memory)) {
        unlocking = device.lock(memory);
      }
    } catch (UnsupportedOperationException e) {
      FailureLog.debug("wrapped memory stays as it is", e);
    } finally {
      if (unlocking == null) {
        letGo(held);
        reclaimer.giveBack(bytes);
      }
    }
    if (unlocking == null) {
      return null;
    }
    ArenaKeepAlive scope = held;
    Runnable driver = unlocking;
    @Nullable Runnable unlock = null;
    try {
      // Refers to nothing of the session, which the budget is of.
      unlock = resources.foreign(() -> unlock(driver, scope));
      return unlockingOnce(unlock, reclaimer, bytes);
    } catch (Throwable e) {
      // The heap may be full.
      if (unlock != null) {
        resources.forget(unlock);
      }
      unlock(driver, scope);
      reclaimer.giveBack(bytes);
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
        reclaimer.giveBack(bytes);
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

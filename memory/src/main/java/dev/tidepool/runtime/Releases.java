package dev.tidepool.runtime;

import dev.tidepool.pool.PooledBlock;
import java.lang.System.Logger.Level;

/**
 * How the memory of buffers goes back, when nothing uses it any more: guard zones are looked at,
 * the buffer leaves the accounts, and then its blocks go; only the exchange that gives the block of
 * a buffer back that was never used comes before. Nothing here throws. Safe for use by any thread.
 */
final class Releases {
  private static final System.Logger LOG = System.getLogger("dev.tidepool");

  private final AcceleratorMemory memory;
  private final LiveBuffers registry;
  private final Accounts accounts;
  private final Guards guards;
  private final Ending ending;

  Releases(
      AcceleratorMemory memory,
      LiveBuffers registry,
      Accounts accounts,
      Guards guards,
      Ending ending) {
    this.memory = memory;
    this.registry = registry;
    this.accounts = accounts;
    this.guards = guards;
    this.ending = ending;
  }

  /** Whether blocks may go back on the calling thread: it must not block a carrier. */
  boolean happenHere(Storage storage) {
    return !Thread.currentThread().isVirtual() || memory.erasure().asksNothing(storage);
  }

  /** Looks at the guard zones of a storage whose blocks are about to go, where it has any. */
  void inspectGuards(Storage storage) {
    if (memory.isParanoid()) {
      guards.inspect(storage);
    }
  }

  /**
   * The end of a storage; called once, by its last work.
   *
   * @param hostReusable whether what the host reaches may have another owner
   * @param deviceReusable whether the device's own memory may
   */
  void free(Storage storage, boolean hostReusable, boolean deviceReusable) {
    inspectGuards(storage);
    accounts.freed(storage.tenancy());
    try {
      storage.residency().copies().free(hostReusable, deviceReusable);
    } catch (RuntimeException | Error e) {
      failed(storage, e);
    }
    registry.gone(storage.tenancy());
    storage.tenancy().forgetRoused();
    ending.goOn();
  }

  /**
   * The end of a buffer that was never used, if it is that still.
   *
   * @param number the tenancy's, in its block
   * @return whether it was the caller who ended it
   */
  boolean freeDormant(Tenancy tenancy, PooledBlock block, long number) {
    if (block.mayGoBackAtOnce() && !accounts.keepHistory()) {
      if (!block.endDormancyAtOnce(number)) {
        return false;
      }
      // Counted before the close is over: a buffer lives no longer than its user can know.
      accounts.freed(tenancy);
    } else {
      if (!block.endDormancy(number)) {
        return false;
      }
      accounts.freed(tenancy);
      block.giveBack();
    }
    ending.goOn();
    return true;
  }

  /**
   * Something went wrong on the way of a storage's memory; nobody is there to be told but a log.
   */
  void failed(Storage storage, Throwable failure) {
    LOG.log(Level.WARNING, "the memory of " + storage + " could not be given back", failure);
  }
}

package dev.tidepool.runtime.storage;

import dev.tidepool.runtime.context.ManagerContext;
import dev.tidepool.runtime.supply.GuardedBlock;
import dev.tidepool.spi.Block;
import dev.tidepool.spi.support.FailureLog;
import org.jspecify.annotations.Nullable;

/**
 * Overwrites released memory where the options ask for it, as far as pools and guarded blocks
 * cannot do that by themselves: memory of the device alone, and what the host may not touch without
 * asking. Thread-safe.
 */
public final class Scrubber {
  private final ManagerContext context;
  private final boolean wanted;
  private final byte value;

  Scrubber(ManagerContext context) {
    boolean zeros = context.options().zeroOnRelease();
    this.context = context;
    this.wanted = zeros || context.isParanoid();
    this.value = zeros ? 0 : GuardedBlock.FREED;
  }

  /**
   * Returns whether giving blocks back asks nothing of the device.
   *
   * @param exclusive whether host and device take the blocks in turn
   */
  boolean asksNothing(boolean exclusive) {
    return !exclusive && !wanted;
  }

  /** Overwrites the block of some copies that is about to be released. */
  void overwrite(BackingBlocks backing) {
    Block released = beyondPools(backing);
    if (released != null) {
      overwrite(released);
    }
  }

  /**
   * Returns the block of some copies that must be overwritten here once it is released; null if
   * none.
   */
  @Nullable Block beyondPools(BackingBlocks backing) {
    boolean beyond = !backing.isShared() || (backing.isMapped() && backing.isHostOwned());
    boolean own = beyond && !backing.isDeviceForeign();
    return wanted && backing.hasDevice() && own ? backing.device() : null;
  }

  /** Overwrites a block that no buffer has any more; whether that worked. */
  boolean overwroteQuietly(Block block) {
    try {
      overwrite(block);
      return true;
    } catch (RuntimeException | Error e) {
      FailureLog.warn("memory that was given up could not be overwritten", e);
      return false;
    }
  }

  /**
   * Overwrites a block of the device whose contents have moved; returns whether it is clean now.
   */
  public boolean overwroteAbandoned(Block block) {
    return !wanted || block.segment() != null || overwroteQuietly(block);
  }

  private void overwrite(Block block) {
    context.link().fill(block, block.byteSize(), value);
  }
}

package dev.tidepool.runtime.storage;

import dev.tidepool.runtime.context.ManagerContext;
import dev.tidepool.runtime.supply.GuardedBlock;
import dev.tidepool.spi.Block;
import dev.tidepool.spi.support.FailureLog;
import org.jspecify.annotations.Nullable;

/**
 * Overwrites released memory if the options require it, as far as pools and guarded blocks cannot:
 * memory of the device alone, and mapped memory, which the host must acquire first. Thread-safe.
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
   * Returns whether blocks can be released without a call to the device.
   *
   * @param exclusive whether host and device use the blocks in turn
   */
  boolean asksNothing(boolean exclusive) {
    return !exclusive && !wanted;
  }

  /** Overwrites the block of {@link #beyondPools}, if any, before its release. */
  void overwrite(BackingBlocks backing) {
    Block released = beyondPools(backing);
    if (released != null) {
      overwrite(released);
    }
  }

  /** Returns the block that this class must overwrite when the memory is released; null if none. */
  @Nullable Block beyondPools(BackingBlocks backing) {
    boolean beyond = !backing.isShared() || (backing.isMapped() && backing.isHostOwned());
    boolean own = beyond && !backing.isDeviceForeign();
    return wanted && backing.hasDevice() && own ? backing.device() : null;
  }

  /** Overwrites a block that no buffer uses any more; returns whether it succeeded. */
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
   * Overwrites a block of the device whose contents have moved; returns whether it may be reused.
   */
  public boolean overwroteAbandoned(Block block) {
    return !wanted || block.segment() != null || overwroteQuietly(block);
  }

  private void overwrite(Block block) {
    context.link().fill(block, block.byteSize(), value);
  }
}

package dev.tidepool.runtime;

import dev.tidepool.pool.BlockPool;
import dev.tidepool.spi.Block;

/**
 * What a manager may hold of drivers and system at most: bytes are reserved before a driver is
 * asked and given back after it has the block again, so the limit is never exceeded. What lies idle
 * in the manager's pools stays reserved, and a pool's hit costs nothing here.
 *
 * <p><b>Locking.</b> Its monitor guards two numbers, for some nanoseconds; no driver is called
 * under it.
 */
final class MemoryLimit {
  private long limitBytes;
  private long usedBytes;

  MemoryLimit(long limitBytes) {
    this.limitBytes = limitBytes;
  }

  synchronized long limitBytes() {
    return limitBytes;
  }

  synchronized long usedBytes() {
    return usedBytes;
  }

  /** Sets another limit; false, and nothing is changed, if more is in use. */
  synchronized boolean change(long bytes) {
    if (bytes < usedBytes) {
      return false;
    }
    limitBytes = bytes;
    return true;
  }

  private synchronized void reserve(long bytes) {
    if (bytes > limitBytes - usedBytes) {
      throw new LimitReached(bytes, usedBytes, limitBytes);
    }
    usedBytes += bytes;
  }

  private synchronized void giveBack(long bytes) {
    usedBytes -= bytes;
  }

  /** A source whose blocks count until they are freed. */
  BlockPool.Source over(BlockPool.Source source) {
    return (bytes, alignment) -> {
      reserve(bytes);
      try {
        Block block = source.allocate(bytes, alignment);
        return new ChargedBlock(block, this::giveBack, bytes);
      } catch (RuntimeException | Error e) {
        giveBack(bytes);
        throw e;
      }
    };
  }
}

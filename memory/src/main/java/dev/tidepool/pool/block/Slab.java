package dev.tidepool.pool.block;

import dev.tidepool.pool.SizeClasses;
import dev.tidepool.pooling.EvictionPolicy;
import dev.tidepool.spi.Block;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * One block of the driver, cut into blocks of one class.
 *
 * <p>The slab is returned to the driver when all its parts are idle. A retired part, whose segment
 * may still be in use, counts as idle for this.
 */
public final class Slab implements Reclaimable {
  final Block whole;
  private final List<PooledBlock> parts = new ArrayList<>();
  private final List<PooledBlock> shown = Collections.unmodifiableList(parts);
  // If all parts are retired, only this flag prevents a second claim.
  private final AtomicBoolean claimed = new AtomicBoolean();

  /** The bytes of retired parts, which are never leased again. */
  private final AtomicLong lostBytes = new AtomicLong();

  /** The following slab in the pool's {@link SlabList}. */
  volatile @Nullable Slab next;

  /** The preceding slab. Guarded by the list's monitor. */
  @Nullable Slab previous;

  Slab(Block whole) {
    this.whole = whole;
  }

  List<PooledBlock> cut(PoolCallbacks pool, int sizeClass) {
    long bytes = SizeClasses.bytesOf(sizeClass);
    for (long start = 0; bytes <= whole.byteSize() - start; start += bytes) {
      parts.add(new PooledBlock(pool, new BlockPart(whole, start, bytes), bytes, sizeClass, this));
    }
    return parts();
  }

  public List<PooledBlock> parts() {
    return shown;
  }

  int sizeClass() {
    return parts.getFirst().sizeClass;
  }

  /** Records that a part is never leased again. */
  void lost(long bytes) {
    lostBytes.addAndGet(bytes);
  }

  /** Returns the bytes of parts that are never leased again. */
  long lostBytes() {
    return lostBytes.get();
  }

  /** Returns the number of parts that seem to be taken. */
  int liveParts() {
    int live = 0;
    for (PooledBlock part : parts) {
      live += part.isIdle() || part.ending ? 0 : 1;
    }
    return live;
  }

  /** Returns the bytes of idle parts, or 0 if no part is in use. */
  long boundBytes() {
    long idle = 0;
    boolean used = false;
    for (PooledBlock part : parts) {
      boolean isIdle = part.isIdle();
      idle += isIdle ? part.bytes : 0;
      used |= !isIdle && !part.ending;
    }
    return used ? idle : 0;
  }

  /** Reserves the slab for a thread that takes its parts. Returns false if already reserved. */
  boolean reserve() {
    return claimed.compareAndSet(false, true);
  }

  void unreserve() {
    claimed.set(false);
  }

  @Override
  public long bytes() {
    return whole.byteSize();
  }

  @Override
  public long rank(EvictionPolicy policy) {
    return parts.stream().mapToLong(part -> part.rank(policy)).max().orElse(0);
  }

  @Override
  public boolean isOlderThan(long nanoTime) {
    return parts.getFirst().isOlderThan(nanoTime);
  }

  @Override
  public boolean isAllIdle() {
    // By index: an iterator would allocate, which returning a block must not do.
    for (int i = 0; i < parts.size(); i++) {
      PooledBlock part = parts.get(i);
      if (!part.isIdle() && !part.ending) {
        return false;
      }
    }
    return true;
  }

  @Override
  public boolean looksUnusedSince(long nanoTime, long now) {
    boolean unused = true;
    for (PooledBlock part : parts) {
      unused &= part.looksUnusedSince(nanoTime, now);
    }
    return unused;
  }

  @Override
  public boolean wasUsedSinceLook() {
    return parts.stream().anyMatch(PooledBlock::wasUsedSinceLook);
  }

  @Override
  public boolean claim(IdleSet idle) {
    if (!reserve()) {
      return false;
    }
    for (int i = 0; i < parts.size(); i++) {
      PooledBlock part = parts.get(i);
      if (!part.ending && !idle.take(part)) {
        unclaim(idle, i);
        return false;
      }
    }
    return true;
  }

  @Override
  public void unclaim(IdleSet idle) {
    unclaim(idle, parts.size());
  }

  private void unclaim(IdleSet idle, int count) {
    for (int i = 0; i < count; i++) {
      PooledBlock part = parts.get(i);
      if (!part.ending) {
        idle.putAnyway(part);
      }
    }
    unreserve();
  }
}

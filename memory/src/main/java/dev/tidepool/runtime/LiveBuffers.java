package dev.tidepool.runtime;

import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * The buffers of a manager that have memory: found by looking who occupies the blocks of the pools,
 * so that a buffer's birth and death are written down nowhere else. Buffers over foreign memory
 * have no block, nor do those in a spill file: they stand in a set.
 */
final class LiveBuffers {
  private final AcceleratorMemory memory;
  private final Pools pools;
  private final Set<Tenancy> withoutBlock = ConcurrentHashMap.newKeySet();

  // Of those that were woken by who found them dormant, until their handles know.
  private final Map<Tenancy, Storage> roused = new ConcurrentHashMap<>();

  // Changes of place so far.
  private final AtomicLong relocations = new AtomicLong();

  LiveBuffers(AcceleratorMemory memory, Pools pools) {
    this.memory = memory;
    this.pools = pools;
  }

  /** A buffer that no block tells of. */
  void addWithoutBlock(Tenancy tenancy) {
    withoutBlock.add(tenancy);
    relocated();
  }

  /** The buffers that no block tells of: those over foreign memory, and those in a file. */
  Collection<Tenancy> withoutBlock() {
    return Collections.unmodifiableCollection(withoutBlock);
  }

  /** Such a buffer is gone, or has a block now; others are gone with their blocks. */
  void removeWithoutBlock(Tenancy tenancy) {
    relocated();
    withoutBlock.remove(tenancy);
  }

  /** A dormant buffer is woken by another than its handle. */
  void roused(Tenancy tenancy, Storage storage) {
    roused.put(tenancy, storage);
  }

  /** The storage of a buffer that was woken so. */
  @Nullable Storage roused(Tenancy tenancy) {
    return roused.get(tenancy);
  }

  /** Its memory is on its way back, or it was not woken after all. */
  void forgetRoused(Tenancy tenancy) {
    roused.remove(tenancy);
  }

  /** A buffer has arrived somewhere, and is about to leave where it was. */
  void relocated() {
    relocations.incrementAndGet();
  }

  /** All of them, those that are closing included. Takes some microseconds, more with many. */
  Collection<Tenancy> all() {
    Set<Tenancy> all = new HashSet<>();
    long before;
    do {
      // Who changes his place during the walk could be missed at both.
      before = relocations.get();
      all.clear();
      all.addAll(withoutBlock);
      pools.forEachTaken(
          block -> {
            Tenancy tenancy = Tenancy.of(block);
            if (tenancy != null && tenancy.memory() == memory) {
              all.add(tenancy);
            }
          });
    } while (before != relocations.get());
    return all;
  }

  /** Their bytes, as they were asked for. */
  long bytes() {
    return all().stream().mapToLong(Tenancy::byteSize).sum();
  }

  /**
   * The same by tag, largest first; buffers without one by the empty text.
   *
   * @param untagged further bytes without a tag
   */
  Map<String, Long> bytesByTag(long untagged) {
    Map<String, Long> byTag = new HashMap<>();
    if (untagged > 0) {
      byTag.put("", untagged);
    }
    all().forEach(tenancy -> byTag.merge(tenancy.tag(), tenancy.byteSize(), Long::sum));
    Map<String, Long> sorted = new LinkedHashMap<>();
    byTag.entrySet().stream()
        .sorted(Map.Entry.<String, Long>comparingByValue().reversed())
        .forEach(entry -> sorted.put(entry.getKey(), entry.getValue()));
    return Collections.unmodifiableMap(sorted);
  }

  /** Whether no memory is in use, not even by an allocation that is under way. */
  boolean isEmpty() {
    return all().isEmpty() && !pools.isInUse(tenant -> false);
  }

  /** Whether closed buffers that wait for an open mapping are all that is left. */
  boolean awaitMappings() {
    Collection<Tenancy> left = all();
    return !left.isEmpty()
        && left.stream().allMatch(Tenancy::awaitsMapping)
        && !pools.isInUse(tenant -> tenant instanceof Tenancy tenancy && tenancy.awaitsMapping());
  }
}

package dev.tidepool.runtime.storage;

import dev.tidepool.runtime.context.ManagerContext;
import dev.tidepool.runtime.supply.MemoryPools;
import java.lang.invoke.VarHandle;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * The buffers of a manager that have memory. Most are found through the tenants of the pools'
 * blocks, so that allocation and close need no registration. Buffers over foreign memory and
 * buffers in a spill file have no such block; a set contains them.
 */
public final class BufferRegistry {
  private final ManagerContext context;
  private final MemoryPools pools;
  private final Set<BufferCore> withoutBlock = ConcurrentHashMap.newKeySet();

  // Storages that other threads created for dormant buffers; the handles' cores find them here.
  private final Map<BufferCore, Storage> madeStorages = new ConcurrentHashMap<>();

  // For each traversal of all buffers in progress, the buffers that have moved meanwhile: it could
  // miss them in both their old and their new place.
  private final List<ConcurrentLinkedQueue<BufferCore>> traversals = new CopyOnWriteArrayList<>();

  // How often a move was not reported to a traversal because the heap was full.
  private final AtomicInteger untold = new AtomicInteger();

  BufferRegistry(ManagerContext context, MemoryPools pools) {
    this.context = context;
    this.pools = pools;
  }

  /** Adds a buffer. If the heap is full, this throws and the buffer is not listed. */
  public void addWithoutBlock(BufferCore core) {
    try {
      withoutBlock.add(core);
    } catch (OutOfMemoryError e) {
      // The set may contain the buffer without having counted it.
      withoutBlock.remove(core);
      throw e;
    }
    relocated(core);
  }

  /** Returns the buffers that no block leads to: those over foreign memory, and those in a file. */
  public Collection<BufferCore> withoutBlock() {
    return Collections.unmodifiableCollection(withoutBlock);
  }

  void removeWithoutBlock(BufferCore core) {
    relocated(core);
    withoutBlock.remove(core);
  }

  /** Removes a freed buffer, if it is in the set. */
  void gone(BufferCore core) {
    withoutBlock.remove(core);
  }

  /** Adds a storage that a thread creates for a dormant buffer without its handle. */
  void madeStorage(BufferCore core, Storage storage) {
    madeStorages.put(core, storage);
  }

  /** Returns the storage that {@link #madeStorage} added for a buffer; null if there is none. */
  @Nullable Storage storageMadeFor(BufferCore core) {
    return madeStorages.get(core);
  }

  /** Removes a storage whose memory was returned or that was not needed. */
  void forgetMadeStorage(BufferCore core) {
    madeStorages.remove(core);
  }

  /** Reports a buffer that is in its new place and about to leave the old one. Throws nothing. */
  public void relocated(BufferCore core) {
    // Either a traversal sees the buffer in its new place, or this thread sees the traversal.
    VarHandle.fullFence();
    try {
      traversals.forEach(moved -> moved.add(core));
    } catch (OutOfMemoryError e) {
      untold.incrementAndGet();
    }
  }

  /**
   * Returns all buffers, including those that are closing. Takes some microseconds, more with many
   * buffers. Repeats only after a move that was not reported.
   */
  public Collection<BufferCore> all() {
    int before;
    Set<BufferCore> all;
    do {
      before = untold.get();
      all = traverse();
    } while (untold.get() != before);
    return all;
  }

  private Set<BufferCore> traverse() {
    Set<BufferCore> all = new HashSet<>();
    ConcurrentLinkedQueue<BufferCore> moved = new ConcurrentLinkedQueue<>();
    traversals.add(moved);
    try {
      VarHandle.fullFence();
      all.addAll(withoutBlock);
      pools.forEachTaken(
          block -> {
            BufferCore core = BufferCore.of(block);
            if (core != null && core.context() == context) {
              all.add(core);
            }
          });
    } finally {
      traversals.remove(moved);
    }
    // A core that was found before its move does not know the new place.
    all.removeAll(moved);
    all.addAll(moved);
    return all;
  }

  /**
   * Returns the bytes of live buffers by tag, largest first; buffers without one by the empty text.
   *
   * @param untagged further bytes without a tag
   */
  public Map<String, Long> bytesByTag(long untagged) {
    Map<String, Long> byTag = new HashMap<>();
    if (untagged > 0) {
      byTag.put("", untagged);
    }
    all().forEach(core -> byTag.merge(core.tag(), core.byteSize(), Long::sum));
    Map<String, Long> sorted = new LinkedHashMap<>();
    byTag.entrySet().stream()
        .sorted(Map.Entry.<String, Long>comparingByValue().reversed())
        .forEach(entry -> sorted.put(entry.getKey(), entry.getValue()));
    return Collections.unmodifiableMap(sorted);
  }

  /** Returns whether no memory is in use, not even by an allocation in progress. */
  public boolean isEmpty() {
    return all().isEmpty() && !pools.isInUse(tenant -> false);
  }

  /** Returns whether only closed buffers are left, and a mapping or a hold keeps each of them. */
  public boolean awaitMappings() {
    Collection<BufferCore> left = all();
    return !left.isEmpty()
        && left.stream().allMatch(BufferCore::awaitsMapping)
        && !pools.isInUse(tenant -> tenant instanceof BufferCore core && core.awaitsMapping());
  }
}

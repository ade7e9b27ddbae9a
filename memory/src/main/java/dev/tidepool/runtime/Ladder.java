package dev.tidepool.runtime;

import dev.tidepool.ByteSize;
import dev.tidepool.MemoryInfo;
import dev.tidepool.OutOfDeviceMemoryException;
import dev.tidepool.pool.PooledBlock;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * What happens when memory runs out, whoever said so: blocks on their way back are waited for,
 * pools are trimmed, unreachable buffers reclaimed, small buffers moved together, idle device
 * copies given up; after each rung that gave something back the request is tried again, and only
 * then it fails.
 *
 * <p>Bounded: each rung is climbed once, except that device copies are given up one by one. Holds
 * no lock.
 */
final class Ladder {
  private static final long CLOSING_WAIT_NANOS = 2_000_000_000L;
  private static final long COLLECTOR_WAIT_NANOS = 100_000_000L;
  private static final int TAGS_NAMED = 5;

  private final AcceleratorMemory memory;

  Ladder(AcceleratorMemory memory) {
    this.memory = memory;
  }

  /** The request's block, after as many rungs as it takes. */
  PooledBlock climb(long bytes, Supplier<PooledBlock> request) {
    List<String> tried = new ArrayList<>();
    try {
      return request.get();
    } catch (OutOfDeviceMemoryException refused) {
      if (bytes > memory.largest()) {
        throw tooLarge(bytes, refused);
      }
      PooledBlock block = afterRungs(request, tried);
      if (block == null) {
        throw exhausted(bytes, tried, refused);
      }
      return block;
    }
  }

  private @Nullable PooledBlock afterRungs(Supplier<PooledBlock> request, List<String> tried) {
    if (waitForClosing()) {
      tried.add("waited for buffers that were closing");
      PooledBlock block = attempt(request);
      if (block != null) {
        return block;
      }
    }
    long trimmed = memory.trimDevice();
    if (trimmed > 0) {
      tried.add("trimmed " + ByteSize.format(trimmed) + " from pools");
      PooledBlock block = attempt(request);
      if (block != null) {
        return block;
      }
    }
    PooledBlock collected = afterCollection(request, tried);
    if (collected != null) {
      return collected;
    }
    long joined = memory.defragmentDevice();
    if (joined > 0) {
      tried.add("moved small buffers together, which gave back " + ByteSize.format(joined));
      PooledBlock block = attempt(request);
      if (block != null) {
        return block;
      }
    }
    return afterEvictions(request, tried);
  }

  private @Nullable PooledBlock afterEvictions(Supplier<PooledBlock> request, List<String> tried) {
    List<Storage> idle = new ArrayList<>(memory.roused());
    idle.sort(Comparator.comparingLong(storage -> storage.lastUse() - System.nanoTime()));
    int evicted = 0;
    for (Storage storage : idle) {
      if (storage.memory().evict(storage)) {
        evicted++;
        memory.trimDevice();
        PooledBlock block = attempt(request);
        if (block != null) {
          return block;
        }
      }
    }
    if (evicted > 0) {
      tried.add("gave up " + evicted + " idle device copies");
    }
    return null;
  }

  private static @Nullable PooledBlock attempt(Supplier<PooledBlock> request) {
    try {
      return request.get();
    } catch (OutOfDeviceMemoryException stillFull) {
      return null;
    }
  }

  /**
   * Whether something that was closing is gone now. The library's own threads do not wait: what is
   * closing may be queued behind them.
   */
  private boolean waitForClosing() {
    if (Workers.isWorker(Thread.currentThread())) {
      return false;
    }
    List<Storage> closing = memory.awake().stream().filter(Storage::isClosing).toList();
    long deadline = System.nanoTime() + CLOSING_WAIT_NANOS;
    boolean freed = false;
    for (Storage storage : closing) {
      for (Work work : storage.unfinished()) {
        freed |= work.await(deadline - System.nanoTime());
      }
    }
    return freed;
  }

  /**
   * Has unreachable buffers noticed, by the maintenance thread or here, and tries again as long as
   * that brings blocks back.
   */
  private @Nullable PooledBlock afterCollection(Supplier<PooledBlock> request, List<String> tried) {
    long before = memory.leaks();
    memory.reclaimUnreachable();
    if (memory.leaks() == before && !memory.live().isEmpty()) {
      System.gc();
    }
    long deadline = System.nanoTime() + COLLECTOR_WAIT_NANOS;
    long seen = before;
    while (System.nanoTime() < deadline) {
      memory.reclaimUnreachable();
      if (memory.leaks() > seen || memory.pooledBytes() > 0) {
        seen = memory.leaks();
        memory.trimDevice();
        PooledBlock block = attempt(request);
        if (block != null) {
          return block;
        }
      }
      if (memory.live().isEmpty()) {
        break;
      }
      LockSupport.parkNanos(1_000_000);
    }
    if (seen > before) {
      tried.add("reclaimed " + (seen - before) + " unreachable buffers");
    }
    return null;
  }

  private OutOfDeviceMemoryException tooLarge(long bytes, OutOfDeviceMemoryException refused) {
    MemoryInfo info = memory.accelerator().memory();
    OutOfDeviceMemoryException thrown =
        new OutOfDeviceMemoryException(
            "a buffer of "
                + bytes
                + " bytes is larger than the largest that "
                + memory.accelerator().id()
                + " allows, "
                + memory.largest()
                + " bytes; split it",
            bytes,
            info.freeBytes(),
            info.totalBytes(),
            memory.pooledBytes());
    thrown.initCause(refused);
    return thrown;
  }

  private OutOfDeviceMemoryException exhausted(
      long bytes, List<String> tried, OutOfDeviceMemoryException refused) {
    MemoryInfo info = memory.accelerator().memory();
    OutOfDeviceMemoryException thrown =
        new OutOfDeviceMemoryException(
            "no room for "
                + ByteSize.format(bytes)
                + " on "
                + memory.accelerator().id()
                + ": "
                + ByteSize.format(info.freeBytes())
                + " of "
                + ByteSize.format(info.totalBytes())
                + (info.freeIsEstimate() ? " free (estimated), " : " free, ")
                + ByteSize.format(memory.pooledBytes())
                + " pooled, "
                + ByteSize.format(memory.liveBytes())
                + " in live buffers"
                + biggestTags()
                + (tried.isEmpty()
                    ? "; nothing could be given back"
                    : "; " + String.join(", ", tried))
                + ". Close buffers, or work in smaller chunks. "
                + refused.getMessage(),
            bytes,
            info.freeBytes(),
            info.totalBytes(),
            memory.pooledBytes());
    thrown.initCause(refused);
    return thrown;
  }

  private String biggestTags() {
    Map<String, Long> byTag =
        memory.live().stream()
            .map(Tenancy::info)
            .collect(
                Collectors.groupingBy(
                    info -> info.tag().isEmpty() ? "untagged" : "'" + info.tag() + "'",
                    Collectors.summingLong(info -> info.byteSize())));
    if (byTag.isEmpty()) {
      return "";
    }
    return byTag.entrySet().stream()
        .sorted(Map.Entry.<String, Long>comparingByValue().reversed())
        .limit(TAGS_NAMED)
        .map(tag -> tag.getKey() + " " + ByteSize.format(tag.getValue()))
        .collect(Collectors.joining(", ", " (", ")"));
  }
}

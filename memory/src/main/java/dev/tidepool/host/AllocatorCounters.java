package dev.tidepool.host;

import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/** The counters for {@link AllocatorStatistics}. */
final class AllocatorCounters {
  private final UsageCounter.Gauge allocated = new UsageCounter.Gauge();
  private final Map<PageKind, UsageCounter.Gauge> pages = new EnumMap<>(PageKind.class);
  private final UsageCounter.Gauge locked = new UsageCounter.Gauge();
  private final Map<Integer, UsageCounter.Gauge> nodes = new ConcurrentHashMap<>();
  private final UsageCounter.Gauge wrapped = new UsageCounter.Gauge();
  // Not LongAdders, which may allocate: these count while the caller holds a block.
  private final AtomicLong refusedHugePages = new AtomicLong();
  private final AtomicLong refusedPolicies = new AtomicLong();
  private final AtomicLong refusedLocks = new AtomicLong();

  AllocatorCounters() {
    for (PageKind kind : PageKind.values()) {
      pages.put(kind, new UsageCounter.Gauge());
    }
  }

  /** Adds bytes to a gauge, or removes them. */
  private interface Change {
    void to(UsageCounter.Gauge gauge, long bytes);
  }

  /** Counts a block. If the heap has no room for the gauge of a node, counts nothing. */
  void add(GrantedMemory backing) {
    for (int node : backing.numa().nodes()) {
      nodes.computeIfAbsent(node, _ -> new UsageCounter.Gauge());
    }
    change(backing, UsageCounter.Gauge::add);
  }

  void remove(GrantedMemory backing) {
    change(backing, UsageCounter.Gauge::remove);
  }

  private void change(GrantedMemory backing, Change change) {
    long bytes = backing.bytes();
    List<Integer> numbers = backing.numa().nodes();
    for (int i = 0; i < numbers.size(); i++) {
      UsageCounter.Gauge gauge = nodes.get(numbers.get(i));
      change.to(Objects.requireNonNull(gauge, "made when it was added"), bytes / numbers.size());
    }
    change.to(allocated, bytes);
    change.to(Objects.requireNonNull(pages.get(backing.pages()), "every kind has one"), bytes);
    if (backing.locked()) {
      change.to(locked, bytes);
    }
  }

  /** Counts the requested properties that a block did not get. */
  void countRefusals(HostRequest request, GrantedMemory got) {
    if (request.bytes() == 0) {
      return;
    }
    if (request.pages().isPresent() && got.pages().compareTo(request.pages().get()) < 0) {
      refusedHugePages.incrementAndGet();
    }
    if (!got.numa().equals(request.numa())) {
      refusedPolicies.incrementAndGet();
    }
  }

  void countRefusedLock() {
    refusedLocks.incrementAndGet();
  }

  /** Returns the gauge of memory that the allocator does not own. */
  UsageCounter.Gauge wrapped() {
    return wrapped;
  }

  AllocatorStatistics statistics() {
    Map<PageKind, UsageCounter> byPages = new EnumMap<>(PageKind.class);
    pages.forEach((kind, gauge) -> byPages.put(kind, gauge.usage()));
    Map<Integer, UsageCounter> byNode = new TreeMap<>();
    nodes.forEach((node, gauge) -> byNode.put(node, gauge.usage()));
    return new AllocatorStatistics(
        allocated.usage(),
        byPages,
        locked.usage(),
        byNode,
        wrapped.usage(),
        refusedHugePages.get(),
        refusedPolicies.get(),
        refusedLocks.get());
  }
}

package dev.tidepool.host;

import java.util.EnumMap;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;

/** The counters behind {@link AllocatorStatistics}. */
final class AllocatorCounters {
  private final UsageCounter.Gauge allocated = new UsageCounter.Gauge();
  private final Map<PageKind, UsageCounter.Gauge> pages = new EnumMap<>(PageKind.class);
  private final UsageCounter.Gauge locked = new UsageCounter.Gauge();
  private final Map<Integer, UsageCounter.Gauge> nodes = new ConcurrentHashMap<>();
  private final UsageCounter.Gauge wrapped = new UsageCounter.Gauge();
  private final LongAdder refusedHugePages = new LongAdder();
  private final LongAdder refusedPolicies = new LongAdder();
  private final LongAdder refusedLocks = new LongAdder();

  AllocatorCounters() {
    for (PageKind kind : PageKind.values()) {
      pages.put(kind, new UsageCounter.Gauge());
    }
  }

  /** What a gauge does with bytes: adds or removes them. */
  private interface Change {
    void to(UsageCounter.Gauge gauge, long bytes);
  }

  void add(GrantedMemory backing) {
    change(backing, UsageCounter.Gauge::add);
  }

  void remove(GrantedMemory backing) {
    change(backing, UsageCounter.Gauge::remove);
  }

  private void change(GrantedMemory backing, Change change) {
    long bytes = backing.bytes();
    change.to(allocated, bytes);
    change.to(Objects.requireNonNull(pages.get(backing.pages()), "every kind has one"), bytes);
    if (backing.locked()) {
      change.to(locked, bytes);
    }
    for (int node : backing.numa().nodes()) {
      UsageCounter.Gauge gauge = nodes.computeIfAbsent(node, _ -> new UsageCounter.Gauge());
      change.to(gauge, bytes / backing.numa().nodes().size());
    }
  }

  /** Compares what a block got with what was wanted. */
  void countRefusals(HostRequest request, GrantedMemory got) {
    if (request.bytes() == 0) {
      return;
    }
    if (request.pages().isPresent() && got.pages().compareTo(request.pages().get()) < 0) {
      refusedHugePages.increment();
    }
    if (!got.numa().equals(request.numa())) {
      refusedPolicies.increment();
    }
  }

  void countRefusedLock() {
    refusedLocks.increment();
  }

  /** Counts memory of others. */
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
        refusedHugePages.sum(),
        refusedPolicies.sum(),
        refusedLocks.sum());
  }
}

package dev.tidepool.testkit;

import dev.tidepool.TidepoolException;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.diagnostics.BufferInfo;
import dev.tidepool.spi.support.ManagerObserver;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The managers of one test. For each, it records the live buffers at the start of the test method
 * and at the last time when the manager was seen open.
 *
 * <p>The monitor guards the map; no manager is called under it.
 */
final class ManagerWatch implements ManagerObserver {
  /** A manager and its live buffers. */
  private static final class Watched {
    private final UnifiedMemoryManager manager;
    private volatile List<BufferInfo> before = List.of();
    private volatile List<BufferInfo> last = List.of();

    Watched(UnifiedMemoryManager manager) {
      this.manager = manager;
    }

    /** Records the live buffers if the manager is open. */
    void look() {
      List<BufferInfo> live = live(manager);
      if (live != null) {
        last = live;
      }
    }
  }

  /** A buffer that the test method left open. */
  record Leak(UnifiedMemoryManager manager, BufferInfo buffer) {}

  // Guarded by this.
  private final IdentityHashMap<UnifiedMemoryManager, Watched> managers = new IdentityHashMap<>();

  @Override
  public void opened(UnifiedMemoryManager manager) {
    watched(manager);
  }

  @Override
  public void closing(UnifiedMemoryManager manager) {
    watched(manager).look();
  }

  /** Begins the test method: buffers that are live now are not its leaks. */
  void begin(Collection<UnifiedMemoryManager> known) {
    look(known);
    all().forEach(watched -> watched.before = watched.last);
  }

  /** Looks at all known managers, including the given ones. */
  void look(Collection<UnifiedMemoryManager> known) {
    known.forEach(this::watched);
    all().forEach(Watched::look);
  }

  /** Returns the buffers that are open now, or were when their manager began to close. */
  List<Leak> leaks() {
    List<Leak> leaks = new ArrayList<>();
    for (Watched watched : all()) {
      watched.look();
      without(watched.last, watched.before)
          .forEach(buffer -> leaks.add(new Leak(watched.manager, buffer)));
    }
    return leaks;
  }

  private synchronized Watched watched(UnifiedMemoryManager manager) {
    return managers.computeIfAbsent(manager, Watched::new);
  }

  private synchronized List<Watched> all() {
    return List.copyOf(managers.values());
  }

  /** Returns the live buffers after pending operations; null if the manager is closed. */
  private static @Nullable List<BufferInfo> live(UnifiedMemoryManager manager) {
    try {
      try {
        manager.synchronize();
      } catch (TidepoolException failed) {
        // The test checks failures; the operations have ended in any case.
      }
      return manager.buffers();
    } catch (IllegalStateException closed) {
      return null;
    }
  }

  /** Identifies a buffer in several snapshots: everything except its state and age. */
  private record Identity(String tag, String type, long length, String location, String site) {
    Identity(BufferInfo info) {
      this(info.tag(), info.elementType(), info.length(), info.location().name(), info.site());
    }
  }

  private static List<BufferInfo> without(List<BufferInfo> all, List<BufferInfo> known) {
    Map<Identity, Integer> counts = new HashMap<>();
    known.forEach(info -> counts.merge(new Identity(info), 1, Integer::sum));
    return all.stream()
        .filter(info -> counts.merge(new Identity(info), -1, Integer::sum) < 0)
        .toList();
  }
}

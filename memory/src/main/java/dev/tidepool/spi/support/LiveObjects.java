package dev.tidepool.spi.support;

import java.util.EnumMap;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Counts the objects of a driver that exist, by kind. A count that is not zero after everything was
 * closed is a leak.
 *
 * <p>Thread-safe, and takes no lock: a virtual thread that waited for one could continue on another
 * carrier, and drivers keep state for each carrier.
 *
 * @param <K> the enum of the kinds of objects
 */
public final class LiveObjects<K extends Enum<K>> {
  // Complete before it is read, and never changed afterwards.
  private final Map<K, AtomicLong> counts;

  public LiveObjects(Class<K> kinds) {
    this.counts = new EnumMap<>(kinds);
    for (K kind : kinds.getEnumConstants()) {
      counts.put(kind, new AtomicLong());
    }
  }

  /** Counts an object that the driver has created. */
  public void created(K kind) {
    of(kind).incrementAndGet();
  }

  /** Counts an object that the driver has released. */
  public void released(K kind) {
    of(kind).decrementAndGet();
  }

  /** Returns how many objects of a kind exist. */
  public long count(K kind) {
    return of(kind).get();
  }

  private AtomicLong of(K kind) {
    return Objects.requireNonNull(counts.get(kind));
  }
}

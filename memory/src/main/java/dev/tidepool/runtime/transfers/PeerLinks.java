package dev.tidepool.runtime.transfers;

import dev.tidepool.Accelerator;
import dev.tidepool.ElementType;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.runtime.context.OpenSession;
import dev.tidepool.runtime.storage.PeerPaths;
import dev.tidepool.spi.Device;
import dev.tidepool.transfer.PeerAccess;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.function.Consumer;

/**
 * The links between the devices of a session. The map never changes; each link has its own lock.
 * Calls that open or close a link share {@code switching}; the thread that closes the devices holds
 * it exclusively.
 */
public final class PeerLinks implements PeerAccess, PeerPaths {
  private record Pair(Device from, Device to) {}

  private final OpenSession session;
  private final List<DeviceAccelerator> accelerators;
  // In the order of the accelerators.
  private final Map<Pair, PeerLink> ways = new LinkedHashMap<>();
  private final boolean permitted;
  private final Executor callbacks;
  private final ReadWriteLock switching = new ReentrantReadWriteLock();

  /**
   * Creates the links of a session.
   *
   * @param permitted whether devices may copy from each other directly
   * @param callbacks starts a thread for each task; it runs users' stages
   */
  public PeerLinks(
      OpenSession session,
      List<DeviceAccelerator> accelerators,
      boolean permitted,
      Executor callbacks) {
    this.session = session;
    this.accelerators = List.copyOf(accelerators);
    this.permitted = permitted;
    this.callbacks = callbacks;
    for (DeviceAccelerator from : accelerators) {
      for (DeviceAccelerator to : accelerators) {
        if (!from.equals(to)) {
          ways.put(new Pair(from.device(), to.device()), new PeerLink(from, to, permitted));
        }
      }
    }
  }

  @Override
  public boolean carries(Device from, Device to) {
    if (from.equals(to)) {
      return true;
    }
    PeerLink way = ways.get(new Pair(from, to));
    // This session has no link to a device of another Tidepool, but the driver may reach it.
    return way == null ? permitted && to.copiesFrom(from) : way.carries();
  }

  @Override
  public boolean carry(Device from, Device to, long bytes, Runnable copy) {
    PeerLink way = ways.get(new Pair(from, to));
    if (way != null) {
      return way.carry(bytes, copy);
    }
    copy.run();
    return true;
  }

  @Override
  public void staged(Device from, Device to, long bytes) {
    PeerLink way = ways.get(new Pair(from, to));
    if (way != null) {
      way.staged(bytes);
    }
  }

  @Override
  public List<Way> matrix() {
    return session.whileOpen(() -> ways.values().stream().map(PeerLink::way).toList());
  }

  @Override
  public Way way(Accelerator from, Accelerator to) {
    DeviceAccelerator source = known(from);
    DeviceAccelerator destination = known(to);
    return session.whileOpen(between(source, destination)::way);
  }

  @Override
  public void enable(Accelerator from, Accelerator to) {
    switched(from, to, PeerLink::enable);
  }

  @Override
  public void disable(Accelerator from, Accelerator to) {
    switched(from, to, PeerLink::disable);
  }

  private void switched(Accelerator from, Accelerator to, Consumer<PeerLink> change) {
    switching.readLock().lock();
    try {
      change.accept(between(known(from), known(to)));
    } finally {
      switching.readLock().unlock();
    }
  }

  /**
   * Closes the devices once no thread opens or closes a link. A later call finds the session
   * closed.
   *
   * @param devices closes the devices
   */
  public void close(Runnable devices) {
    switching.writeLock().lock();
    try {
      devices.run();
    } finally {
      switching.writeLock().unlock();
    }
  }

  @Override
  public <A> void scatter(UnifiedBuffer<A> source, List<? extends UnifiedBuffer<A>> parts) {
    Collective.await(scatterAsync(source, parts));
  }

  @Override
  public <A> CompletableFuture<Void> scatterAsync(
      UnifiedBuffer<A> source, List<? extends UnifiedBuffer<A>> parts) {
    session.checkOpen();
    List<? extends UnifiedBuffer<A>> all = copy(parts, "parts");
    long length = checked("source", source, source).length();
    long total = totalLength(source, all);
    if (total != length) {
      throw new IndexOutOfBoundsException(
          "the source has %s elements, but the %s parts %s; every element needs its place"
              .formatted(length, all.size(), total));
    }
    return ForeignCollective.isNeededBy(source, all)
        ? ForeignCollective.ofParts(source, all, true).submit(callbacks)
        : Collective.ofParts(source, all, true).submit(callbacks);
  }

  @Override
  public <A> void gather(List<? extends UnifiedBuffer<A>> parts, UnifiedBuffer<A> destination) {
    Collective.await(gatherAsync(parts, destination));
  }

  @Override
  public <A> CompletableFuture<Void> gatherAsync(
      List<? extends UnifiedBuffer<A>> parts, UnifiedBuffer<A> destination) {
    session.checkOpen();
    List<? extends UnifiedBuffer<A>> all = copy(parts, "parts");
    long length = checked("destination", destination, destination).length();
    long total = totalLength(destination, all);
    if (total > length) {
      throw new IndexOutOfBoundsException(
          "the %s parts have %s elements, but the destination only %s"
              .formatted(all.size(), total, length));
    }
    return ForeignCollective.isNeededBy(destination, all)
        ? ForeignCollective.ofParts(destination, all, false).submit(callbacks)
        : Collective.ofParts(destination, all, false).submit(callbacks);
  }

  @Override
  public <A> void broadcast(
      UnifiedBuffer<A> source, List<? extends UnifiedBuffer<A>> destinations) {
    Collective.await(broadcastAsync(source, destinations));
  }

  @Override
  public <A> CompletableFuture<Void> broadcastAsync(
      UnifiedBuffer<A> source, List<? extends UnifiedBuffer<A>> destinations) {
    session.checkOpen();
    List<? extends UnifiedBuffer<A>> all = copy(destinations, "destinations");
    long length = checked("source", source, source).length();
    for (int i = 0; i < all.size(); i++) {
      String name = "destination " + (i + 1);
      long room = checked(name, all.get(i), source).length();
      if (room < length) {
        throw new IndexOutOfBoundsException(
            "%s has %s elements, but the source %s".formatted(name, room, length));
      }
    }
    return ForeignCollective.isNeededBy(source, all)
        ? ForeignCollective.broadcast(source, all).submit(callbacks)
        : Collective.broadcast(source, all, this).submit(callbacks);
  }

  private static <A> long totalLength(
      UnifiedBuffer<A> like, List<? extends UnifiedBuffer<A>> parts) {
    long total = 0;
    for (int i = 0; i < parts.size(); i++) {
      total = Math.addExact(total, checked("part " + (i + 1), parts.get(i), like).length());
    }
    return total;
  }

  /** Returns a buffer if it has the element type of another one. */
  private static <A> UnifiedBuffer<A> checked(
      String name, UnifiedBuffer<A> buffer, UnifiedBuffer<A> like) {
    ElementType<A> type = Objects.requireNonNull(buffer, name).elementType();
    if (!type.equals(like.elementType())) {
      throw new IllegalArgumentException(
          "%s holds %s, not %s; use as() first".formatted(name, type, like.elementType()));
    }
    return buffer;
  }

  /** Returns a copy: the caller may change the list. A null element is reported by its number. */
  private static <T> List<T> copy(List<? extends T> list, String name) {
    return new ArrayList<>(Objects.requireNonNull(list, name));
  }

  private DeviceAccelerator known(Accelerator accelerator) {
    session.checkOpen();
    return DeviceAccelerator.of(Objects.requireNonNull(accelerator, "accelerator"), session);
  }

  private PeerLink between(DeviceAccelerator from, DeviceAccelerator to) {
    PeerLink way = ways.get(new Pair(from.device(), to.device()));
    if (way == null) {
      throw new IllegalArgumentException(
          "no way leads from " + from.id() + " to itself; name two accelerators");
    }
    return way;
  }

  @Override
  public String toString() {
    return "PeerAccess" + accelerators;
  }
}

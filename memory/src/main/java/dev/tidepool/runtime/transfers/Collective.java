package dev.tidepool.runtime.transfers;

import dev.tidepool.Capability;
import dev.tidepool.MemoryLocation;
import dev.tidepool.TransferException;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.runtime.buffer.BufferCopy;
import dev.tidepool.runtime.buffer.BufferHandle;
import dev.tidepool.runtime.buffer.MemoryRange;
import dev.tidepool.runtime.order.CompositeFuture;
import dev.tidepool.runtime.order.Exceptions;
import dev.tidepool.runtime.order.Operation;
import dev.tidepool.runtime.order.ResourceAccess;
import dev.tidepool.runtime.storage.BufferCore;
import dev.tidepool.runtime.storage.Storage;
import dev.tidepool.runtime.storage.StorageContext;
import dev.tidepool.runtime.threads.StackReserve;
import dev.tidepool.spi.support.FailureText;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Objects;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Executor;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * One buffer scattered or broadcast to several buffers, or gathered from them. There is one piece
 * for each part, and one operation for each storage that is written. All operations are submitted
 * at once.
 *
 * <p><b>Failure.</b> If a piece fails, the other pieces of its storage continue; their operation
 * fails at its end with all failures. Pieces of other storages are not affected. If the relay of a
 * piece failed, the piece is copied from the source instead, which the operation has reserved too.
 *
 * <p><b>Order.</b> All operations enter the queues of all storages at once. So no operation of
 * another thread runs between a piece and the pieces that it is relayed to.
 */
final class Collective {
  /** One copy, from a source to a destination. */
  private static final class Piece {
    private final int number;
    private final BufferHandle<?> source;
    private final BufferHandle<?> destination;
    private final @Nullable Piece relay;
    // Set by the submitting thread: whether the operation was admitted, and whether it uses the
    // relay.
    private boolean entered;
    private boolean relayed;
    // Written by the operation of one storage, read by that of another.
    private volatile boolean arrived;

    /**
     * Creates a piece.
     *
     * @param number of the part, from 1
     * @param relay a piece whose destination has the same bytes by then, and is nearer than the
     *     source
     */
    Piece(int number, BufferHandle<?> source, BufferHandle<?> destination, @Nullable Piece relay) {
      this.number = number;
      this.source = source;
      this.destination = destination;
      this.relay = relay;
    }

    /**
     * Returns the accesses of the piece. The relay is included if its operation was admitted or if
     * both pieces write the same storage.
     */
    List<ResourceAccess> uses() {
      List<ResourceAccess> uses = new ArrayList<>(List.of(ResourceAccess.read(source.storage())));
      if (relay != null
          && (relay.entered || relay.destination.storage() == destination.storage())) {
        relayed = true;
        uses.add(ResourceAccess.relay(relay.destination.storage()));
      }
      return uses;
    }

    void copy() {
      if (arrived) {
        return; // at an earlier attempt
      }
      BufferHandle<?> nearest =
          relay != null && relayed && relay.arrived ? relay.destination : source;
      BufferCopy.within(nearest, destination);
      arrived = true;
    }
  }

  /** The most buffers in one call: a thread holds the monitors of all of them, nested. */
  private static final int MOST_BUFFERS = 1001;

  private final String part;
  private final List<Piece> pieces;

  private Collective(String part, List<Piece> pieces) {
    this.part = part;
    this.pieces = pieces;
    checkApart();
  }

  /**
   * Scatters a buffer or gathers one.
   *
   * @param whole the source if {@code scatters}; else the destination
   */
  static <A> Collective ofParts(
      UnifiedBuffer<A> whole, List<? extends UnifiedBuffer<A>> parts, boolean scatters) {
    List<Piece> pieces = new ArrayList<>();
    long at = 0;
    for (UnifiedBuffer<A> each : parts) {
      BufferHandle<?> part = (BufferHandle<?>) each;
      BufferHandle<?> share = slice(whole, at, each.length());
      int number = pieces.size() + 1;
      pieces.add(
          scatters ? new Piece(number, share, part, null) : new Piece(number, part, share, null));
      at += each.length();
    }
    return new Collective("part", pieces);
  }

  static <A> Collective broadcast(
      UnifiedBuffer<A> source, List<? extends UnifiedBuffer<A>> destinations, PeerLinks peers) {
    Relays relays = new Relays((BufferHandle<A>) source, peers);
    List<Piece> pieces = new ArrayList<>();
    for (UnifiedBuffer<A> destination : destinations) {
      pieces.add(relays.next(pieces.size() + 1, slice(destination, 0, source.length())));
    }
    return new Collective("destination", pieces);
  }

  /** Buffers of other kinds take part in a {@link ForeignCollective} only. */
  private static <A> BufferHandle<A> slice(UnifiedBuffer<A> buffer, long offset, long length) {
    return (BufferHandle<A>) buffer.slice(offset, length);
  }

  /** A range of bytes that a piece writes. */
  private record Written(Piece piece, MemoryRange range) {}

  /** Checks that no byte is written twice and that no byte that is read is written. */
  private void checkApart() {
    Map<Object, NavigableMap<Long, Written>> written = new HashMap<>();
    for (Piece piece : pieces) {
      MemoryRange range = MemoryRange.of(piece.destination);
      if (piece.destination.bytes() > 0) {
        var ranges = written.computeIfAbsent(range.memory(), memory -> new TreeMap<>());
        Piece other = overlapping(ranges, range);
        if (other != null) {
          throw new IllegalArgumentException(
              "%ss %s and %s share bytes; give each its own"
                  .formatted(part, other.number, piece.number));
        }
        ranges.put(range.from(), new Written(piece, range));
      }
    }
    for (Piece piece : pieces) {
      MemoryRange range = MemoryRange.of(piece.source);
      var ranges = written.get(range.memory());
      Piece other = ranges == null ? null : overlapping(ranges, range);
      if (other != null) {
        throw new IllegalArgumentException(
            "what is read for %s %s is overwritten by %s %s; give them buffers of their own"
                .formatted(part, piece.number, part, other.number));
      }
    }
  }

  private static @Nullable Piece overlapping(
      NavigableMap<Long, Written> ranges, MemoryRange range) {
    var before = ranges.lowerEntry(range.to());
    return before != null && before.getValue().range.overlaps(range)
        ? before.getValue().piece
        : null;
  }

  /**
   * Submits all pieces. The future completes when all of them have ended, and fails with the first
   * failure.
   *
   * @param threads complete the future if the heap is full when the last piece ends
   */
  CompletableFuture<Void> submit(Executor threads) {
    Map<Storage, List<Piece>> byStorage = new LinkedHashMap<>();
    for (Piece piece : pieces) {
      byStorage
          .computeIfAbsent(piece.destination.storage(), storage -> new ArrayList<>())
          .add(piece);
    }
    List<Storage> used =
        pieces.stream()
            .flatMap(piece -> Stream.of(piece.source.storage(), piece.destination.storage()))
            .distinct()
            .sorted(Comparator.comparingLong(Storage::number))
            .toList();
    if (used.size() > MOST_BUFFERS) {
      throw new IllegalArgumentException(
          "%s buffers take part, and at most %s may at once; divide the %ss among several calls"
              .formatted(used.size(), MOST_BUFFERS, part));
    }
    List<CompletableFuture<Void>> futures = new ArrayList<>();
    List<Operation> reserved = new ArrayList<>();
    StackReserve.check();
    try {
      holding(
          used,
          () ->
              byStorage.forEach(
                  (storage, group) -> futures.add(reserve(storage, group, reserved))));
    } finally {
      for (int i = 0; i < reserved.size(); i++) {
        reserved.get(i).begin();
      }
    }
    return futures.isEmpty()
        ? CompletableFuture.completedFuture(null)
        : CompositeFuture.of(futures, threads);
  }

  /** Runs a task while holding the monitors of storages, acquired in the given order. */
  private static void holding(List<Storage> storages, Runnable entering) {
    if (storages.isEmpty()) {
      entering.run();
      return;
    }
    synchronized (storages.getFirst()) {
      holding(storages.subList(1, storages.size()), entering);
    }
  }

  private CompletableFuture<Void> reserve(
      Storage written, List<Piece> group, List<Operation> reserved) {
    List<ResourceAccess> uses = new ArrayList<>();
    uses.add(ResourceAccess.write(written));
    for (Piece piece : group) {
      uses.addAll(piece.uses());
    }
    StorageContext context = written.context();
    try {
      Operation operation = context.transfer(uses, () -> copyAll(group));
      // Added before it is reserved, so that it begins even if reserving it throws.
      reserved.add(operation);
      CompletableFuture<Void> future = context.reserve(operation);
      group.forEach(piece -> piece.entered = true);
      return future;
    } catch (RuntimeException e) {
      // The buffer was closed meanwhile, or maps a file for reading. Others are submitted already.
      return CompletableFuture.failedFuture(failed(group.getFirst(), e));
    }
  }

  private void copyAll(List<Piece> group) {
    TransferException first = null;
    for (Piece piece : group) {
      try {
        piece.copy();
      } catch (RuntimeException | InternalError e) {
        TransferException failure = failed(piece, e);
        if (first == null) {
          first = failure;
        } else {
          first.addSuppressed(failure);
        }
      }
    }
    if (first != null) {
      throw first;
    }
  }

  private TransferException failed(Piece piece, Throwable cause) {
    return new TransferException(
        "%s %s of %s, from %s to %s, failed: %s"
            .formatted(
                part,
                piece.number,
                pieces.size(),
                piece.source,
                piece.destination,
                FailureText.of(cause)),
        cause);
  }

  /** Waits for the future and throws its failure. */
  static void await(CompletableFuture<Void> future) {
    try {
      future.join();
    } catch (CompletionException e) {
      throw Exceptions.unchecked(Objects.requireNonNullElse(e.getCause(), e));
    }
  }

  /**
   * Chooses the holder of the bytes that sends them to each destination. A holder serves one
   * destination at a time. The holder that would finish first serves the next destination. If all
   * links are alike, the result is a binomial tree (van de Geijn and others, collective
   * communication).
   */
  private static final class Relays {
    /** The cost of a copy: within a device, over one link, and down and up through the host. */
    private static final int LOCAL = 1;

    private static final int LINK = 8;
    private static final int STAGED = 2 * LINK;

    private static final class Holder {
      private final BufferHandle<?> buffer;
      private final @Nullable Piece piece;
      private long freeAt;

      Holder(BufferHandle<?> buffer, @Nullable Piece piece, long freeAt) {
        this.buffer = buffer;
        this.piece = piece;
        this.freeAt = freeAt;
      }
    }

    private final BufferHandle<?> source;
    private final PeerLinks peers;
    private final List<Holder> holders = new ArrayList<>();

    Relays(BufferHandle<?> source, PeerLinks peers) {
      this.source = source;
      this.peers = peers;
      holders.add(new Holder(source, null, 0));
    }

    /** Returns the piece for the next destination, which becomes a holder. */
    Piece next(int number, BufferHandle<?> destination) {
      Holder best = holders.getFirst();
      long done = Long.MAX_VALUE;
      int cheapest = Integer.MAX_VALUE;
      for (Holder holder : holders) {
        int cost = cost(holder.buffer, destination);
        long end = holder.freeAt + cost;
        if (end < done || (end == done && cost < cheapest)) {
          best = holder;
          done = end;
          cheapest = cost;
        }
      }
      best.freeAt = done;
      Piece piece = new Piece(number, source, destination, best.piece);
      holders.add(new Holder(destination, piece, done));
      return piece;
    }

    private int cost(BufferHandle<?> from, BufferHandle<?> to) {
      boolean one = from.core().context().device().equals(to.core().context().device());
      if (isOnHost(from) != isOnHost(to)) {
        return LINK;
      }
      if (one || isOnHost(from)) {
        return LOCAL;
      }
      return peers.carries(from.core().context().device(), to.core().context().device())
          ? LINK
          : STAGED;
    }

    private static boolean isOnHost(BufferHandle<?> buffer) {
      BufferCore core = buffer.core();
      return core.location() != MemoryLocation.DEVICE
          || core.context().device().info().can(Capability.SHARED_MEMORY);
    }
  }
}

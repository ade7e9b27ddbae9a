package dev.tidepool.runtime.buffer;

import dev.tidepool.ByteSize;
import dev.tidepool.HostMapping;
import dev.tidepool.MapMode;
import dev.tidepool.runtime.order.Exceptions;
import dev.tidepool.runtime.order.Operation;
import dev.tidepool.runtime.order.ResourceAccess;
import dev.tidepool.runtime.storage.Coherence;
import dev.tidepool.runtime.storage.Storage;
import dev.tidepool.runtime.storage.StorageContext;
import dev.tidepool.runtime.threads.FutureResult;
import dev.tidepool.runtime.threads.StackReserve;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * An open mapping.
 *
 * <p>Its segment has an arena of its own, confined to the mapping thread or shared, whose cleanup
 * action ends the mapping. The action refers to the handle: a reference to the segment keeps the
 * buffer from counting as leaked. Memory that the library does not own is the exception: its
 * original arena guards the segment, which stays valid after the mapping.
 */
final class OpenHostMapping implements HostMapping {
  private final Arena arena;
  private final MemorySegment segment;
  private final MapMode mode;

  private OpenHostMapping(Arena arena, MemorySegment segment, MapMode mode) {
    this.arena = arena;
    this.segment = segment;
    this.mode = mode;
  }

  /** A mapping that is being opened: the operation that moves bytes, and its result. */
  private static final class Opening {
    private final BufferHandle<?> buffer;
    private final Storage storage;
    private final MapMode mode;
    private final Operation operation;
    // Written by the operation and read after its end.
    private volatile @Nullable MemorySegment mapped;
    // Whether a failed attempt was reported.
    private boolean abandoned;

    Opening(BufferHandle<?> buffer, MapMode mode) {
      this.buffer = buffer;
      this.storage = buffer.storage();
      this.mode = mode;
      this.operation = storage.transfer(ResourceAccess.mapping(storage, mode), this::move);
    }

    private void move() {
      try {
        MemorySegment host = hostOf(buffer, mode);
        storage.holds().mappingOpened();
        mapped = host;
      } catch (RuntimeException | Error e) {
        throw Exceptions.transfer(e, "mapping of " + storage);
      }
    }

    OpenHostMapping finish(boolean shared) {
      Arena arena = shared ? Arena.ofShared() : Arena.ofConfined();
      MemorySegment host = Objects.requireNonNull(mapped, "the work has ended");
      return new OpenHostMapping(arena, within(arena, buffer, host, mode), mode);
    }

    void abandon() {
      if (operation.hasEntered() && !abandoned) {
        abandoned = true;
        storage.mappingEnded(mode, mapped != null);
      }
    }
  }

  static OpenHostMapping open(BufferHandle<?> buffer, MapMode mode, boolean shared) {
    StackReserve.checkForTwo();
    Opening opening = new Opening(buffer, mode);
    try {
      opening.operation.perform(buffer.storage().runsHere());
      return opening.finish(shared);
    } catch (RuntimeException | Error e) {
      opening.abandon();
      throw e;
    }
  }

  /** Opens a mapping for all threads, by an operation in the storage's queue. */
  static CompletableFuture<HostMapping> openAsync(BufferHandle<?> buffer, MapMode mode) {
    StackReserve.checkForTwo();
    Opening opening = new Opening(buffer, mode);
    StorageContext context = opening.storage.context();
    CompletableFuture<HostMapping> future = new CompletableFuture<>();
    FutureResult<HostMapping> result =
        new FutureResult<>(future, context.callbackExecutor(), HostMapping::close);
    var _ = context.track(future);
    try {
      opening.operation.submit(failure -> end(opening, result, failure));
    } catch (RuntimeException | Error e) {
      context.untrack(future);
      opening.abandon();
      throw e;
    }
    return future;
  }

  /** Completes the future after the operation. Called again if the heap was full. */
  private static void end(
      Opening opening, FutureResult<HostMapping> result, @Nullable Throwable failure) {
    result.compute(
        () -> {
          try {
            if (failure != null) {
              throw Exceptions.unchecked(failure);
            }
            return opening.finish(true);
          } catch (RuntimeException | Error e) {
            opening.abandon();
            throw e;
          }
        });
    result.completeElsewhere();
  }

  private static MemorySegment hostOf(BufferHandle<?> buffer, MapMode mode) {
    Coherence coherence = buffer.storage().coherence();
    if (!mode.writes()) {
      coherence.publish();
    }
    var _ =
        mode.writes()
            ? coherence.hostForWrite(buffer.from(), buffer.to(), !mode.reads())
            : coherence.hostForRead(buffer.from(), buffer.to());
    return buffer.part(coherence.backing().handedOut());
  }

  private static MemorySegment within(
      Arena arena, BufferHandle<?> buffer, MemorySegment host, MapMode mode) {
    boolean owned = buffer.storage().coherence().backing().isHostOwned();
    MemorySegment hook = owned ? host : MemorySegment.ofAddress(host.address());
    MemorySegment mapped =
        hook.reinterpret(
            owned ? host.byteSize() : 0, arena, ended -> buffer.storage().mappingEnded(mode, true));
    MemorySegment visible = owned ? mapped : host;
    return mode.writes() ? visible : visible.asReadOnly();
  }

  @Override
  public MemorySegment segment() {
    if (!arena.scope().isAlive()) {
      throw new IllegalStateException("the mapping is closed; map the buffer again");
    }
    return segment;
  }

  @Override
  public MapMode mode() {
    return mode;
  }

  /** Synchronized, because the second of two threads that close an arena would fail. */
  @Override
  public synchronized void close() {
    StackReserve.check();
    if (arena.scope().isAlive()) {
      try {
        arena.close();
      } catch (WrongThreadException e) {
        WrongThreadException told =
            new WrongThreadException(
                "the mapping belongs to the thread that made it; close it there, or make one for"
                    + " all threads by map(mode, true)");
        told.initCause(e);
        throw told;
      }
    }
  }

  @Override
  public String toString() {
    return "HostMapping["
        + mode
        + " of "
        + ByteSize.format(segment.byteSize())
        + (arena.scope().isAlive() ? "]" : ", closed]");
  }
}

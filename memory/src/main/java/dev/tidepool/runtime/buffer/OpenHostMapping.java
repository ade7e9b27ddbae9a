package dev.tidepool.runtime.buffer;

import dev.tidepool.HostMapping;
import dev.tidepool.MapMode;
import dev.tidepool.runtime.order.Exceptions;
import dev.tidepool.runtime.order.Operation;
import dev.tidepool.runtime.order.ResourceAccess;
import dev.tidepool.runtime.order.StackReserve;
import dev.tidepool.runtime.storage.Coherence;
import dev.tidepool.runtime.storage.Storage;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * An open mapping.
 *
 * <p>Its segment lives in an arena of its own, confined to the mapping thread or shared, whose last
 * action ends the mapping. That action holds the handle: a reference to the segment keeps the
 * buffer from counting as leaked. Memory of the caller is the exception: its segment is the
 * caller's own, guarded by the caller's arena, and stays valid after the mapping.
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

  static OpenHostMapping open(BufferHandle<?> buffer, MapMode mode, boolean shared) {
    StackReserve.checkForTwo();
    Storage storage = buffer.storage();
    AtomicBoolean opened = new AtomicBoolean();
    MemorySegment[] mapped = new MemorySegment[1];
    Operation work =
        Operation.of(
                List.of(ResourceAccess.mapping(storage, mode)),
                storage.context().transferThreads(),
                () -> {
                  try {
                    mapped[0] = hostOf(buffer, mode);
                    storage.mappingOpened();
                    opened.set(true);
                  } catch (RuntimeException | Error e) {
                    throw Exceptions.transfer(e, "mapping of " + storage);
                  }
                })
            .retrying(storage.context().retries());
    try {
      work.perform(storage.runsHere());
      Arena arena = shared ? Arena.ofShared() : Arena.ofConfined();
      return new OpenHostMapping(arena, within(arena, buffer, mapped[0], mode), mode);
    } catch (RuntimeException | Error e) {
      if (work.hasEntered()) {
        storage.mappingEnded(mode, opened.get());
      }
      throw e;
    }
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
    return buffer.part(coherence.copies().handedOut());
  }

  private static MemorySegment within(
      Arena arena, BufferHandle<?> buffer, MemorySegment host, MapMode mode) {
    boolean owned = buffer.storage().coherence().copies().isHostOwned();
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

  /** One thread at a time: of two that end an arena the later one would fail. */
  @Override
  public synchronized void close() {
    StackReserve.check();
    if (arena.scope().isAlive()) {
      arena.close();
    }
  }
}

package dev.tidepool.runtime.buffer;

import dev.tidepool.Accelerator;
import dev.tidepool.BufferState;
import dev.tidepool.ElementType;
import dev.tidepool.HostMapping;
import dev.tidepool.MapMode;
import dev.tidepool.MemoryLocation;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.diagnostics.BufferMetrics;
import dev.tidepool.link.HostRegion;
import dev.tidepool.pool.block.Lease;
import dev.tidepool.runtime.metering.LeakGroup;
import dev.tidepool.runtime.order.Exceptions;
import dev.tidepool.runtime.order.Operation;
import dev.tidepool.runtime.order.ResourceAccess;
import dev.tidepool.runtime.storage.BufferCore;
import dev.tidepool.runtime.storage.Coherence;
import dev.tidepool.runtime.storage.FillPattern;
import dev.tidepool.runtime.storage.Storage;
import dev.tidepool.runtime.threads.StackReserve;
import dev.tidepool.spi.support.SegmentAccess;
import dev.tidepool.transfer.TransferPriority;
import java.lang.foreign.MemorySegment;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A handle on a range of a storage as elements of a type: a whole buffer, a slice, or a view.
 *
 * <p>Each method checks its arguments and enters one operation into the storage's queue. Handles
 * hold the token of their leak group, so that a storage without handles is detected.
 */
public abstract sealed class BufferHandle<A> implements UnifiedBuffer<A>
    permits RootBuffer, BufferPart {
  /** The most bytes of a copy in place. Other threads would wait too long for a longer one. */
  private static final long MOST_IN_PLACE = 64 << 10;

  private final LeakGroup.Token token;
  private final ElementType<A> type;
  // The last view; null once the handle is closed. Not volatile, which would cost an exchange: a
  // thread that sees an old view asks the storage whether it is current.
  private @Nullable View view;

  /** A host view and its read-only version, which is created on request. */
  private static final class View {
    private final MemorySegment segment;
    // Two threads may each create one: segments are immutable.
    private @Nullable MemorySegment readOnly;

    View(MemorySegment segment) {
      this.segment = segment;
    }

    MemorySegment segment() {
      return segment;
    }

    MemorySegment readOnly() {
      MemorySegment made = readOnly;
      if (made == null) {
        made = segment.asReadOnly();
        readOnly = made;
      }
      return made;
    }
  }

  BufferHandle(LeakGroup.Token token, ElementType<A> type) {
    this.token = token;
    this.type = type;
  }

  /** Returns the core of the buffer that this is a part of. */
  public abstract BufferCore core();

  /** Returns the offset of the first byte in the storage. */
  public abstract long from();

  /** Returns the number of elements, even of a closed handle. */
  abstract long count();

  /** Fails if this is closed. */
  abstract void checkOpen();

  /** Closes the handle, whether it is open or not. */
  abstract void end();

  LeakGroup.Token token() {
    return token;
  }

  /** Returns the type of the elements, even of a closed handle. */
  ElementType<A> type() {
    return type;
  }

  public Storage storage() {
    return core().storage();
  }

  /** Returns the offset after the last byte in the storage. */
  public long to() {
    return from() + bytes();
  }

  @Override
  public ElementType<A> elementType() {
    checkOpen();
    return type;
  }

  @Override
  public long length() {
    checkOpen();
    return count();
  }

  @Override
  public long byteSize() {
    checkOpen();
    return bytes();
  }

  /** Returns the number of bytes, even of a closed handle. */
  public long bytes() {
    return count() * type.byteSize();
  }

  @Override
  public MemoryLocation location() {
    checkOpen();
    return core().location();
  }

  @Override
  public BufferState state() {
    checkOpen();
    return core().state();
  }

  @Override
  public Accelerator accelerator() {
    checkOpen();
    return core().context().accelerator();
  }

  @Override
  public void copyFrom(A source) {
    write(source, 0, 0, fitting(source));
  }

  @Override
  public void copyFrom(A source, int sourceOffset, long offset, int count) {
    checkRanges(source, "source", sourceOffset, offset, count);
    write(source, sourceOffset, offset, count);
  }

  /** Copies from an array whose range was checked. */
  private void write(A source, int sourceOffset, long offset, int count) {
    if (!copyInPlace(true, source, sourceOffset, offset, count)) {
      perform(inbound(source, sourceOffset, offset, count));
    }
  }

  @Override
  public CompletableFuture<Void> copyFromAsync(A source) {
    return submit(inbound(source, 0, 0, fitting(source)));
  }

  @Override
  public CompletableFuture<Void> copyFromAsync(A source, int sourceOffset, long offset, int count) {
    checkRanges(source, "source", sourceOffset, offset, count);
    return submit(inbound(source, sourceOffset, offset, count));
  }

  @Override
  public void copyTo(A destination) {
    read(0, destination, 0, requiredBy(destination));
  }

  @Override
  public void copyTo(long offset, A destination, int destinationOffset, int count) {
    checkRanges(destination, "destination", destinationOffset, offset, count);
    read(offset, destination, destinationOffset, count);
  }

  /** Copies to an array whose range was checked. */
  private void read(long offset, A destination, int destinationOffset, int count) {
    if (!copyInPlace(false, destination, destinationOffset, offset, count)) {
      perform(outbound(offset, destination, destinationOffset, count));
    }
  }

  @Override
  public CompletableFuture<Void> copyToAsync(A destination) {
    return submit(outbound(0, destination, 0, requiredBy(destination)));
  }

  @Override
  public CompletableFuture<Void> copyToAsync(
      long offset, A destination, int destinationOffset, int count) {
    checkRanges(destination, "destination", destinationOffset, offset, count);
    return submit(outbound(offset, destination, destinationOffset, count));
  }

  @Override
  public void copyFrom(MemorySegment source, long offset) {
    checkSource(source, offset);
    if (mayTouch(source)) {
      perform(inbound(new HostRegion.Segment(source, false), at(offset)));
    } else {
      throughBlock(
          source.byteSize(),
          block -> {
            guarded(
                    () -> new HostRegion.Segment(source, false).copyTo(0, block),
                    "copying " + block.byteSize() + " bytes to")
                .run();
            perform(inbound(new HostRegion.Segment(block, true), at(offset)));
          });
    }
  }

  @Override
  public void copyTo(long offset, MemorySegment destination) {
    checkDestination(offset, destination);
    if (mayTouch(destination)) {
      perform(outbound(at(offset), new HostRegion.Segment(destination, false)));
    } else {
      throughBlock(
          destination.byteSize(),
          block -> {
            perform(outbound(at(offset), new HostRegion.Segment(block, true)));
            guarded(
                    () -> new HostRegion.Segment(destination, false).copyFrom(block, 0),
                    "copying " + block.byteSize() + " bytes out of")
                .run();
          });
    }
  }

  @Override
  public CompletableFuture<Void> copyFromAsync(MemorySegment source, long offset) {
    checkSource(source, offset);
    checkForAllThreads(source);
    return submit(inbound(new HostRegion.Segment(source, false), at(offset)));
  }

  @Override
  public CompletableFuture<Void> copyToAsync(long offset, MemorySegment destination) {
    checkDestination(offset, destination);
    checkForAllThreads(destination);
    return submit(outbound(at(offset), new HostRegion.Segment(destination, false)));
  }

  private void checkSource(MemorySegment source, long offset) {
    checkOpen();
    Objects.requireNonNull(source, "source");
    checkRange(offset, type.elements(source.byteSize()));
  }

  private void checkDestination(long offset, MemorySegment destination) {
    checkOpen();
    Objects.requireNonNull(destination, "destination");
    checkRange(offset, type.elements(destination.byteSize()));
    if (destination.isReadOnly()) {
      throw new IllegalArgumentException("the destination is a read-only segment");
    }
  }

  private void checkForAllThreads(MemorySegment segment) {
    if (!SegmentAccess.isForAllThreads(segment)) {
      throw new IllegalArgumentException(
          "a copy of "
              + core()
              + " in the background takes a segment that all threads may access, such as one of"
              + " Arena.ofShared() or Arena.ofAuto(); this one is confined to a thread");
    }
  }

  /**
   * Returns whether the thread that will copy may access a segment, which may be confined to the
   * caller.
   */
  private boolean mayTouch(MemorySegment segment) {
    return storage().runsHere() || SegmentAccess.isForAllThreads(segment);
  }

  /**
   * Copies through a block: the caller must not block, other threads must not access the segment.
   */
  private void throughBlock(long bytes, Consumer<MemorySegment> copy) {
    Lease lease = core().context().blocks().forCaller(bytes, this);
    try {
      copy.accept(lease.segment().asSlice(0, bytes));
    } finally {
      lease.release();
    }
  }

  @Override
  public void copyFrom(UnifiedBuffer<A> source) {
    Operation operation = inbound(source);
    // The source's bytes may have to be fetched from a device even if this storage needs none.
    boolean here = !(source instanceof BufferHandle<A> other) || other.storage().runsHere();
    operation.perform(here && storage().runsHere());
  }

  @Override
  public CompletableFuture<Void> copyFromAsync(UnifiedBuffer<A> source) {
    return submit(inbound(source));
  }

  @Override
  public MemorySegment asSegment() {
    View known = view;
    return known != null && viewsAgain(true) ? known.segment() : openView(true).segment();
  }

  @Override
  public MemorySegment asReadOnlySegment() {
    View known = view;
    return known != null && viewsAgain(false) ? known.readOnly() : openView(false).readOnly();
  }

  /** Returns whether the last view is still current; if so, counts an access. */
  boolean viewsAgain(boolean writing) {
    return writing ? storage().viewsAgain() : storage().readsViewAgain();
  }

  private View openView(boolean writing) {
    StackReserve.check();
    MemorySegment dormant = viewDormant(writing);
    if (dormant != null) {
      return opened(dormant);
    }
    checkOpen();
    Storage storage = storage();
    MemorySegment inPlace = storage.viewInPlace(from(), to(), writing);
    if (inPlace == null) {
      MemorySegment[] host = new MemorySegment[1];
      perform(
          storage.transfer(
              writing ? ResourceAccess.write(storage) : ResourceAccess.read(storage),
              guarded(
                  () -> {
                    var _ = hostBytes(storage.coherence(), writing);
                    host[0] = storage.exposing();
                  },
                  "fetching")));
      inPlace = host[0];
    }
    View opened = opened(part(inPlace));
    storage.exposed(writing);
    return opened;
  }

  private View opened(MemorySegment segment) {
    // A local variable too, because a close on another thread clears the field.
    View opened = new View(segment);
    view = opened;
    return opened;
  }

  /** Returns the host's bytes; fetches those that are newer on the device. */
  private MemorySegment hostBytes(Coherence coherence, boolean writing) {
    return writing
        ? coherence.hostForWrite(from(), to(), false)
        : coherence.hostForRead(from(), to());
  }

  /** Returns the bytes if that needs no storage; else null. */
  @Nullable MemorySegment viewDormant(boolean writing) {
    return null;
  }

  @Override
  public HostMapping map(MapMode mode) {
    return map(mode, false);
  }

  @Override
  public HostMapping map(MapMode mode, boolean shared) {
    checkOpen();
    Objects.requireNonNull(mode, "mode");
    return OpenHostMapping.open(this, mode, shared);
  }

  @Override
  public CompletableFuture<HostMapping> mapAsync(MapMode mode) {
    checkOpen();
    Objects.requireNonNull(mode, "mode");
    return OpenHostMapping.openAsync(this, mode);
  }

  /** Returns the part of the storage's host copy that this handle covers. */
  MemorySegment part(MemorySegment host) {
    return host.byteSize() == bytes() ? host : host.asSlice(from(), bytes());
  }

  @Override
  public UnifiedBuffer<A> slice(long offset, long length) {
    checkOpen();
    checkRange(offset, length);
    return new BufferPart<>(core(), token, type, at(offset), length);
  }

  @Override
  public <B> UnifiedBuffer<B> as(ElementType<B> type) {
    checkOpen();
    Objects.requireNonNull(type, "type");
    return new BufferPart<>(core(), token, type, from(), type.elements(bytes()));
  }

  @Override
  public void fill(byte value) {
    checkOpen();
    perform(filling(FillPattern.of(value)));
  }

  @Override
  public void fill(A pattern) {
    checkOpen();
    perform(filling(FillPattern.of(type, Objects.requireNonNull(pattern, "pattern"))));
  }

  @Override
  public CompletableFuture<Void> fillAsync(byte value) {
    checkOpen();
    return submit(filling(FillPattern.of(value)));
  }

  @Override
  public CompletableFuture<Void> fillAsync(A pattern) {
    checkOpen();
    return submit(filling(FillPattern.of(type, Objects.requireNonNull(pattern, "pattern"))));
  }

  private Operation filling(FillPattern pattern) {
    return access(
        true, coherence -> coherence.fill(from(), to(), pattern), "filling", bytes() == 0);
  }

  /** Clears all bytes of a new buffer, which keeps its initial state. */
  void zero() {
    perform(access(true, Coherence::clear, "clearing", bytes() == 0));
  }

  @Override
  public void synchronize() {
    perform(synchronizing());
  }

  @Override
  public CompletableFuture<Void> synchronizeAsync() {
    return submit(synchronizing());
  }

  private Operation synchronizing() {
    checkOpen();
    Storage storage = storage();
    return storage.transfer(
        ResourceAccess.onDevice(storage, false),
        guarded(() -> storage.coherence().synchronize(from(), to()), "synchronizing"));
  }

  @Override
  public void prefetchToDevice() {
    prefetch(true);
  }

  @Override
  public void prefetchToHost() {
    prefetch(false);
  }

  /**
   * Starts a transfer. A failure is recorded before the operation leaves the queue, and the next
   * use throws it.
   */
  private void prefetch(boolean toDevice) {
    checkOpen();
    Storage storage = storage();
    ResourceAccess use =
        toDevice ? ResourceAccess.onDevice(storage, false) : ResourceAccess.read(storage);
    storage
        .transfer(
            use, guarded(() -> storage.coherence().prefetch(from(), to(), toDevice), "prefetching"))
        .failing(storage::prefetchFailed)
        .release(false);
  }

  @Override
  public BufferMetrics metrics() {
    checkOpen();
    return storage().metrics();
  }

  @Override
  public void close() {
    StackReserve.check();
    view = null;
    end();
  }

  /** Copies at once, without an operation, if possible; returns whether it did. */
  private boolean copyInPlace(boolean writing, A array, int start, long offset, int count) {
    if (count == 0 || count * type.byteSize() > MOST_IN_PLACE || type.isStruct()) {
      return false;
    }
    StackReserve.check();
    return copyDormant(writing, array, start, offset, count)
        || storage().copyInPlace(writing, type, array, start, at(offset), count);
  }

  /** Copies at once if the buffer is dormant; returns whether it did. */
  boolean copyDormant(boolean writing, A array, int start, long offset, int count) {
    return false;
  }

  private void checkRanges(A array, String name, int start, long offset, int count) {
    checkOpen();
    Objects.requireNonNull(array, name);
    Objects.checkFromIndexSize(start, count, type.length(array));
    checkRange(offset, count);
  }

  /**
   * Checks a range of elements.
   *
   * @throws IndexOutOfBoundsException if the range is not within this
   */
  private void checkRange(long offset, long length) {
    if ((offset | length) < 0 || offset > count() - length) {
      throw outOfBounds(offset, length);
    }
  }

  private IndexOutOfBoundsException outOfBounds(long offset, long length) {
    return new IndexOutOfBoundsException(
        length + " elements from element " + offset + " on are out of bounds of " + this);
  }

  private Operation inbound(A source, int sourceOffset, long offset, int count) {
    return inbound(new HostRegion.Elements<>(type, source, sourceOffset, count), at(offset));
  }

  private Operation inbound(HostRegion source, long at) {
    return access(
            true,
            whileAlive(source, coherence -> coherence.copyIn(source, at)),
            "copying " + source.byteSize() + " bytes to",
            source.byteSize() == 0)
        .carrying(SmallTransfer.in(storage(), source, at, TransferPriority.NORMAL));
  }

  private Operation outbound(long offset, A destination, int destinationOffset, int count) {
    return outbound(
        at(offset), new HostRegion.Elements<>(type, destination, destinationOffset, count));
  }

  private Operation outbound(long at, HostRegion destination) {
    return access(
            false,
            whileAlive(destination, coherence -> coherence.copyOut(at, destination)),
            "copying " + destination.byteSize() + " bytes out of",
            destination.byteSize() == 0)
        .carrying(SmallTransfer.out(storage(), destination, at, TransferPriority.NORMAL));
  }

  /** Explains the failure of a copy whose segment's arena was closed too early. */
  private Consumer<Coherence> whileAlive(HostRegion bytes, Consumer<Coherence> copy) {
    if (!(bytes instanceof HostRegion.Segment(MemorySegment segment, _))) {
      return copy;
    }
    return coherence -> {
      try {
        copy.accept(coherence);
      } catch (IllegalStateException e) {
        if (segment.scope().isAlive()) {
          throw e;
        }
        throw new IllegalStateException(
            "the arena of a segment of "
                + segment.byteSize()
                + " bytes was closed before its copy from or to "
                + core()
                + " had ended; keep it open until the copy returns or its future completes",
            e);
      }
    };
  }

  private Operation inbound(UnifiedBuffer<A> source) {
    checkOpen();
    Objects.requireNonNull(source, "source");
    if (!source.elementType().equals(type)) {
      throw new IllegalArgumentException(
          "the source holds " + source.elementType() + ", not " + type + "; use as() first");
    }
    checkRoomFor(source.length());
    if (source instanceof BufferHandle<A> other) {
      return BufferCopy.operation(other, this);
    }
    return access(
        true,
        coherence ->
            coherence.copyIn(new HostRegion.Segment(source.asReadOnlySegment(), false), from()),
        "copying a foreign buffer to",
        source.length() == 0);
  }

  /** Returns an operation on this storage alone. For an empty range it accesses nothing. */
  private Operation access(boolean writes, Consumer<Coherence> body, String what, boolean empty) {
    return storage()
        .transfer(
            writes ? ResourceAccess.write(storage()) : ResourceAccess.read(storage()),
            empty ? () -> {} : guarded(() -> body.accept(storage().coherence()), what));
  }

  Runnable guarded(Runnable body, String what) {
    return () -> {
      try {
        body.run();
      } catch (RuntimeException | Error e) {
        throw Exceptions.transfer(e, what + " " + core());
      }
    };
  }

  private void perform(Operation operation) {
    operation.perform(storage().runsHere());
  }

  private CompletableFuture<Void> submit(Operation operation) {
    return core().context().submit(operation);
  }

  private int fitting(A source) {
    checkOpen();
    Objects.requireNonNull(source, "source");
    int count = type.length(source);
    checkRoomFor(count);
    return count;
  }

  private void checkRoomFor(long elements) {
    if (elements > count()) {
      throw new IndexOutOfBoundsException(
          "the source has " + elements + " elements, but " + this + " takes " + count());
    }
  }

  private int requiredBy(A destination) {
    checkOpen();
    Objects.requireNonNull(destination, "destination");
    int room = type.length(destination);
    if (room < count()) {
      throw new IndexOutOfBoundsException(
          "the array has " + room + " elements, but " + this + " needs " + count());
    }
    return (int) count();
  }

  private long at(long element) {
    return from() + element * type.byteSize();
  }
}

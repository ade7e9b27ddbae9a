package dev.tidepool;

import dev.tidepool.diagnostics.BufferMetrics;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.time.Instant;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;

/**
 * A base class for buffers over memory of the host that the program owns.
 *
 * <p>A subclass implements six methods: {@link #elementType()}, {@link #length()}, {@link
 * #location()}, {@link #accelerator()}, {@link #asSegment()} and {@link #close()}. All others use
 * the segment, which must have as many bytes as the elements need. Once the buffer is closed,
 * {@code asSegment()} should throw {@link IllegalStateException}; the methods that use it then
 * throw it too. {@link #byteSize()}, {@link #state()}, {@link #metrics()}, {@link #slice} and
 * {@link #as} do not use it.
 *
 * <p>The memory is the only copy, so the state is {@link BufferState#HOST_ONLY}, and {@link
 * #synchronize()} and prefetches copy nothing. The asynchronous methods run on the calling thread
 * before they return, which keeps the order. {@link #metrics()} counts nothing.
 *
 * <p>These buffers are accepted by kernels, {@link dev.tidepool.stream.Pipeline pipelines}, {@link
 * dev.tidepool.transfer.Transfer lists of transfers}, {@link dev.tidepool.transfer.PeerAccess
 * peers}, and, if the segment is native, {@link dev.tidepool.interop.DLPack}. All of these need a
 * segment that every thread may access. Kernels work on a copy, and change the buffer when they
 * end. Only {@link UnifiedMemoryManager#lend} rejects these buffers. The library does not order
 * operations on them: wait for a write before you read.
 *
 * <p>As thread-safe as the segment.
 *
 * @param <A> the Java array that carries elements
 */
public abstract class AbstractUnifiedBuffer<A> implements UnifiedBuffer<A> {
  /** Constructor for subclasses. */
  protected AbstractUnifiedBuffer() {}

  /**
   * A slice or a view. Closing it does not affect other parts: each part is a part of the whole
   * buffer.
   */
  private static final class Part<A> extends AbstractUnifiedBuffer<A> {
    private final AbstractUnifiedBuffer<?> whole;
    private final ElementType<A> type;
    private final long from;
    private final long length;
    private volatile boolean closed;

    Part(AbstractUnifiedBuffer<?> whole, ElementType<A> type, long from, long length) {
      this.whole = whole;
      this.type = type;
      this.from = from;
      this.length = length;
    }

    @Override
    public ElementType<A> elementType() {
      return type;
    }

    @Override
    public long length() {
      return length;
    }

    @Override
    public MemoryLocation location() {
      return whole.location();
    }

    @Override
    public Accelerator accelerator() {
      return whole.accelerator();
    }

    @Override
    public MemorySegment asSegment() {
      checkOpen();
      return whole.asSegment().asSlice(from, type.bytes(length));
    }

    private void checkOpen() {
      if (closed) {
        throw new IllegalStateException(
            "this slice or view of " + whole + " is closed; take another from its root");
      }
    }

    @Override
    <B> Part<B> partOf(ElementType<B> type, long from, long length) {
      checkOpen();
      return new Part<>(whole, type, this.from + from, length);
    }

    @Override
    public void close() {
      closed = true;
    }

    @Override
    public String toString() {
      return type + "[" + length + "] at byte " + from + " of " + whole;
    }
  }

  /** A mapping whose bytes are the segment. */
  private static final class Mapping implements HostMapping {
    private final MemorySegment segment;
    private final MapMode mode;
    private volatile boolean closed;

    Mapping(MemorySegment segment, MapMode mode) {
      this.segment = segment;
      this.mode = mode;
    }

    @Override
    public MemorySegment segment() {
      if (closed) {
        throw new IllegalStateException("the mapping is closed; map the buffer again");
      }
      return segment;
    }

    @Override
    public MapMode mode() {
      return mode;
    }

    @Override
    public void close() {
      closed = true;
    }

    @Override
    public String toString() {
      return "HostMapping["
          + mode
          + " of "
          + ByteSize.format(segment.byteSize())
          + (closed ? ", closed]" : "]");
    }
  }

  @Override
  public long byteSize() {
    return elementType().bytes(length());
  }

  @Override
  public BufferState state() {
    return BufferState.HOST_ONLY;
  }

  @Override
  public void copyFrom(A source) {
    copyFrom(source, 0, 0, elementType().length(Objects.requireNonNull(source, "source")));
  }

  @Override
  public void copyFrom(A source, int sourceOffset, long offset, int count) {
    Objects.requireNonNull(source, "source");
    Objects.checkFromIndexSize(offset, (long) count, length());
    elementType().write(source, sourceOffset, asSegment(), bytes(offset), count);
  }

  @Override
  public void copyTo(A destination) {
    long room = elementType().length(Objects.requireNonNull(destination, "destination"));
    if (room < length()) {
      throw new IndexOutOfBoundsException(
          "the array has " + room + " elements, but " + this + " needs " + length());
    }
    copyTo(0, destination, 0, (int) length());
  }

  @Override
  public void copyTo(long offset, A destination, int destinationOffset, int count) {
    Objects.requireNonNull(destination, "destination");
    Objects.checkFromIndexSize(offset, (long) count, length());
    elementType().read(asSegment(), bytes(offset), destination, destinationOffset, count);
  }

  @Override
  public void copyFrom(MemorySegment source, long offset) {
    part(offset, Objects.requireNonNull(source, "source")).copyFrom(source);
  }

  @Override
  public void copyTo(long offset, MemorySegment destination) {
    destination.copyFrom(part(offset, Objects.requireNonNull(destination, "destination")));
  }

  /** Returns the bytes, starting at an element, that another segment is copied from or to. */
  private MemorySegment part(long offset, MemorySegment other) {
    Objects.checkFromIndexSize(offset, elementType().elements(other.byteSize()), length());
    return asSegment().asSlice(bytes(offset), other.byteSize());
  }

  private long bytes(long elements) {
    return elementType().bytes(elements);
  }

  @Override
  public void copyFrom(UnifiedBuffer<A> source) {
    Objects.requireNonNull(source, "source");
    if (!source.elementType().equals(elementType())) {
      throw new IllegalArgumentException(
          "the source holds "
              + source.elementType()
              + ", not "
              + elementType()
              + "; use as() first");
    }
    Objects.checkFromIndexSize(0, source.length(), length());
    source.copyTo(0, asSegment().asSlice(0, source.byteSize()));
  }

  @Override
  public CompletableFuture<Void> copyFromAsync(A source) {
    return done(() -> copyFrom(source));
  }

  @Override
  public CompletableFuture<Void> copyFromAsync(A source, int sourceOffset, long offset, int count) {
    return done(() -> copyFrom(source, sourceOffset, offset, count));
  }

  @Override
  public CompletableFuture<Void> copyToAsync(A destination) {
    return done(() -> copyTo(destination));
  }

  @Override
  public CompletableFuture<Void> copyToAsync(
      long offset, A destination, int destinationOffset, int count) {
    return done(() -> copyTo(offset, destination, destinationOffset, count));
  }

  @Override
  public CompletableFuture<Void> copyFromAsync(MemorySegment source, long offset) {
    return done(() -> copyFrom(source, offset));
  }

  @Override
  public CompletableFuture<Void> copyToAsync(long offset, MemorySegment destination) {
    return done(() -> copyTo(offset, destination));
  }

  @Override
  public CompletableFuture<Void> copyFromAsync(UnifiedBuffer<A> source) {
    return done(() -> copyFrom(source));
  }

  @Override
  public CompletableFuture<Void> fillAsync(byte value) {
    return done(() -> fill(value));
  }

  @Override
  public CompletableFuture<Void> fillAsync(A pattern) {
    return done(() -> fill(pattern));
  }

  @Override
  public CompletableFuture<Void> synchronizeAsync() {
    return done(this::synchronize);
  }

  private static CompletableFuture<Void> done(Runnable work) {
    try {
      work.run();
      return CompletableFuture.completedFuture(null);
    } catch (RuntimeException | Error e) {
      return CompletableFuture.failedFuture(e);
    }
  }

  @Override
  public MemorySegment asReadOnlySegment() {
    return asSegment().asReadOnly();
  }

  @Override
  public HostMapping map(MapMode mode) {
    return map(mode, false);
  }

  /**
   * {@inheritDoc}
   *
   * <p>The mapping is the segment itself: {@code shared} has no effect, and every thread that may
   * use the segment may use the mapping.
   */
  @Override
  public HostMapping map(MapMode mode, boolean shared) {
    return new Mapping(mode.writes() ? asSegment() : asReadOnlySegment(), mode);
  }

  @Override
  public CompletableFuture<HostMapping> mapAsync(MapMode mode) {
    try {
      return CompletableFuture.completedFuture(map(mode, true));
    } catch (RuntimeException | Error e) {
      return CompletableFuture.failedFuture(e);
    }
  }

  @Override
  public UnifiedBuffer<A> slice(long offset, long length) {
    Objects.checkFromIndexSize(offset, length, length());
    return partOf(elementType(), bytes(offset), length);
  }

  @Override
  public <B> UnifiedBuffer<B> as(ElementType<B> type) {
    return partOf(type, 0, type.elements(byteSize()));
  }

  /** Returns a part that begins at a byte and can be closed separately. */
  <B> UnifiedBuffer<B> partOf(ElementType<B> type, long from, long length) {
    return new Part<>(this, type, from, length);
  }

  @Override
  public void fill(byte value) {
    var _ = asSegment().fill(value);
  }

  @Override
  public void synchronize() {
    checkOpen();
  }

  @Override
  public void prefetchToDevice() {
    checkOpen();
  }

  @Override
  public void prefetchToHost() {
    checkOpen();
  }

  /** Throws if the buffer is closed. */
  private void checkOpen() {
    var _ = asSegment();
  }

  @Override
  public BufferMetrics metrics() {
    return new BufferMetrics(0, 0, 0, Duration.ZERO, Instant.EPOCH, 0, 0);
  }
}

package dev.tidepool.testkit.conformance;

import dev.tidepool.Accelerator;
import dev.tidepool.BufferState;
import dev.tidepool.ElementType;
import dev.tidepool.HostMapping;
import dev.tidepool.MapMode;
import dev.tidepool.MemoryLocation;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.diagnostics.BufferMetrics;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.time.Instant;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;

/** A buffer that somebody else implemented, over a heap array; the library knows nothing of it. */
final class ForeignBuffer<A> implements UnifiedBuffer<A> {
  private final ElementType<A> type;
  private final MemorySegment bytes;
  private final Accelerator accelerator;

  ForeignBuffer(ElementType<A> type, long length, Accelerator accelerator) {
    this(type, MemorySegment.ofArray(new byte[Math.toIntExact(type.bytes(length))]), accelerator);
  }

  private ForeignBuffer(ElementType<A> type, MemorySegment bytes, Accelerator accelerator) {
    this.type = type;
    this.bytes = bytes;
    this.accelerator = accelerator;
  }

  @Override
  public ElementType<A> elementType() {
    return type;
  }

  @Override
  public long length() {
    return bytes.byteSize() / type.byteSize();
  }

  @Override
  public long byteSize() {
    return bytes.byteSize();
  }

  @Override
  public MemoryLocation location() {
    return MemoryLocation.HOST;
  }

  @Override
  public BufferState state() {
    return BufferState.HOST_ONLY;
  }

  @Override
  public Accelerator accelerator() {
    return accelerator;
  }

  @Override
  public void copyFrom(A source) {
    copyFrom(source, 0, 0, type.length(source));
  }

  @Override
  public void copyFrom(A source, int sourceOffset, long offset, int count) {
    Objects.checkFromIndexSize(offset, count, length());
    type.write(source, sourceOffset, bytes, offset * type.byteSize(), count);
  }

  @Override
  public void copyTo(A destination) {
    copyTo(0, destination, 0, Math.toIntExact(length()));
  }

  @Override
  public void copyTo(long offset, A destination, int destinationOffset, int count) {
    Objects.checkFromIndexSize(offset, count, length());
    type.read(bytes, offset * type.byteSize(), destination, destinationOffset, count);
  }

  @Override
  public void copyFrom(MemorySegment source, long offset) {
    bytes.asSlice(offset * type.byteSize(), source.byteSize()).copyFrom(source);
  }

  @Override
  public void copyTo(long offset, MemorySegment destination) {
    destination.copyFrom(bytes.asSlice(offset * type.byteSize(), destination.byteSize()));
  }

  @Override
  public void copyFrom(UnifiedBuffer<A> source) {
    source.copyTo(0, bytes.asSlice(0, source.byteSize()));
  }

  @Override
  public CompletableFuture<Void> copyFromAsync(A source) {
    return CompletableFuture.runAsync(() -> copyFrom(source));
  }

  @Override
  public CompletableFuture<Void> copyFromAsync(A source, int sourceOffset, long offset, int count) {
    return CompletableFuture.runAsync(() -> copyFrom(source, sourceOffset, offset, count));
  }

  @Override
  public CompletableFuture<Void> copyToAsync(A destination) {
    return CompletableFuture.runAsync(() -> copyTo(destination));
  }

  @Override
  public CompletableFuture<Void> copyToAsync(
      long offset, A destination, int destinationOffset, int count) {
    return CompletableFuture.runAsync(() -> copyTo(offset, destination, destinationOffset, count));
  }

  @Override
  public CompletableFuture<Void> copyFromAsync(UnifiedBuffer<A> source) {
    return CompletableFuture.runAsync(() -> copyFrom(source));
  }

  @Override
  public MemorySegment asSegment() {
    return bytes;
  }

  @Override
  public MemorySegment asReadOnlySegment() {
    return bytes.asReadOnly();
  }

  @Override
  public HostMapping map(MapMode mode) {
    return map(mode, false);
  }

  @Override
  public HostMapping map(MapMode mode, boolean shared) {
    return new HostMapping() {
      @Override
      public MemorySegment segment() {
        return mode.writes() ? bytes : bytes.asReadOnly();
      }

      @Override
      public MapMode mode() {
        return mode;
      }

      @Override
      public void close() {
        // the bytes are an array's: nothing ends with the mapping
      }
    };
  }

  @Override
  public UnifiedBuffer<A> slice(long offset, long length) {
    return new ForeignBuffer<>(
        type, bytes.asSlice(offset * type.byteSize(), length * type.byteSize()), accelerator);
  }

  @Override
  public <B> UnifiedBuffer<B> as(ElementType<B> other) {
    return new ForeignBuffer<>(other, bytes, accelerator);
  }

  @Override
  public void fill(byte value) {
    bytes.fill(value);
  }

  @Override
  public void synchronize() {
    // one copy only
  }

  @Override
  public void prefetchToDevice() {
    // one copy only
  }

  @Override
  public void prefetchToHost() {
    // one copy only
  }

  @Override
  public BufferMetrics metrics() {
    return new BufferMetrics(0, 0, 0, Duration.ZERO, Instant.EPOCH, 0, 0);
  }

  @Override
  public void close() {
    // the collector's
  }
}

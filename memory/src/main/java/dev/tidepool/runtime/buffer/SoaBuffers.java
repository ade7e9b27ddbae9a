package dev.tidepool.runtime.buffer;

import dev.tidepool.Accelerator;
import dev.tidepool.Allocation;
import dev.tidepool.ElementType;
import dev.tidepool.StructOfArrays;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.diagnostics.LayoutReport;
import dev.tidepool.link.HostRegion;
import dev.tidepool.runtime.buffer.SoaConversion.Structs;
import dev.tidepool.runtime.storage.StorageContext;
import java.lang.foreign.MemorySegment;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;

/** A buffer for each component of a record. Owns the buffers, which do not refer to it. */
public final class SoaBuffers<R extends Record> implements StructOfArrays<R> {
  private final StorageContext context;
  private final ElementType<R[]> type;
  private final long length;
  private final Map<String, BufferHandle<?>> buffers;
  private volatile boolean closed;

  private SoaBuffers(
      StorageContext context,
      ElementType<R[]> type,
      long length,
      Map<String, BufferHandle<?>> buffers) {
    this.context = context;
    this.type = type;
    this.length = length;
    this.buffers = buffers;
  }

  /** Allocates all buffers, or none. */
  public static <R extends Record> SoaBuffers<R> allocate(
      StorageContext context,
      BufferAllocator allocator,
      ElementType<R[]> type,
      long length,
      Allocation allocation) {
    Map<String, BufferHandle<?>> buffers = new LinkedHashMap<>();
    try {
      for (LayoutReport.Component component : LayoutReport.of(type).components()) {
        buffers.put(component.name(), column(allocator, component.type(), length, allocation));
      }
    } catch (RuntimeException | Error e) {
      buffers.values().forEach(UnifiedBuffer::close);
      throw e;
    }
    return new SoaBuffers<>(context, type, length, buffers);
  }

  private static <A> BufferHandle<A> column(
      BufferAllocator allocator, ElementType<A> type, long length, Allocation allocation) {
    return (BufferHandle<A>) allocator.allocate(type, length, allocation);
  }

  @Override
  public ElementType<R[]> structType() {
    checkOpen();
    return type;
  }

  @Override
  public long length() {
    checkOpen();
    return length;
  }

  @Override
  public long byteSize() {
    checkOpen();
    return buffers.values().stream().mapToLong(BufferHandle::bytes).sum();
  }

  @Override
  public Accelerator accelerator() {
    checkOpen();
    return context.accelerator();
  }

  @Override
  public List<String> names() {
    checkOpen();
    return List.copyOf(buffers.keySet());
  }

  @Override
  public <A> UnifiedBuffer<A> component(String name, ElementType<A> wanted) {
    checkOpen();
    Objects.requireNonNull(wanted, "type");
    BufferHandle<?> buffer = buffers.get(Objects.requireNonNull(name, "name"));
    if (buffer == null) {
      throw new IllegalArgumentException(
          type + " has no component '" + name + "'; it has " + String.join(", ", names()));
    }
    ElementType<?> own = buffer.elementType();
    if (own.arrayClass() != wanted.arrayClass()) {
      throw new IllegalArgumentException(
          "component " + name + " of " + type + " holds " + own + ", not " + wanted);
    }
    if (!own.equals(wanted)) {
      return buffer.as(wanted);
    }
    @SuppressWarnings("unchecked") // the types are equal
    UnifiedBuffer<A> typed = (UnifiedBuffer<A>) buffer;
    return typed;
  }

  @Override
  public void copyFrom(R[] source) {
    copyFrom(source, 0, 0, fitting(source));
  }

  @Override
  public void copyFrom(R[] source, int sourceOffset, long offset, int count) {
    taking(source, sourceOffset, offset, count).perform();
  }

  @Override
  public void copyTo(R[] destination) {
    copyTo(0, destination, 0, requiredBy(destination));
  }

  @Override
  public void copyTo(long offset, R[] destination, int destinationOffset, int count) {
    making(offset, destination, destinationOffset, count).perform();
  }

  @Override
  public void copyFrom(UnifiedBuffer<R[]> source) {
    taking(source).perform();
  }

  @Override
  public void copyTo(UnifiedBuffer<R[]> destination) {
    making(destination).perform();
  }

  @Override
  public CompletableFuture<Void> copyFromAsync(R[] source) {
    return context.submit(taking(source, 0, 0, fitting(source)).operation());
  }

  @Override
  public CompletableFuture<Void> copyToAsync(R[] destination) {
    return context.submit(making(0, destination, 0, requiredBy(destination)).operation());
  }

  @Override
  public CompletableFuture<Void> copyFromAsync(UnifiedBuffer<R[]> source) {
    return context.submit(taking(source).operation());
  }

  @Override
  public CompletableFuture<Void> copyToAsync(UnifiedBuffer<R[]> destination) {
    return context.submit(making(destination).operation());
  }

  private SoaConversion taking(R[] source, int sourceOffset, long offset, int count) {
    return conversion(elements(source, sourceOffset, offset, count), offset, count, false);
  }

  private SoaConversion making(long offset, R[] destination, int destinationOffset, int count) {
    return conversion(elements(destination, destinationOffset, offset, count), offset, count, true);
  }

  private Structs elements(R[] array, int start, long offset, int count) {
    checkOpen();
    Objects.requireNonNull(array, "array");
    Objects.checkFromIndexSize(start, count, array.length);
    Objects.checkFromIndexSize(offset, (long) count, length);
    return new Structs.OnHost(new HostRegion.Elements<>(type, array, start, count));
  }

  private SoaConversion taking(UnifiedBuffer<R[]> source) {
    checkOpen();
    checkType(source);
    long count = source.length();
    Objects.checkFromIndexSize(0L, count, length);
    return conversion(structs(source, false), 0, count, false);
  }

  private SoaConversion making(UnifiedBuffer<R[]> destination) {
    checkOpen();
    checkType(destination);
    checkRoom("buffer", destination.length());
    return conversion(structs(destination, true), 0, length, true);
  }

  private Structs structs(UnifiedBuffer<R[]> buffer, boolean written) {
    if (buffer instanceof BufferHandle<R[]> own) {
      return new Structs.InBuffer(own);
    }
    MemorySegment bytes = written ? buffer.asSegment() : buffer.asReadOnlySegment();
    return new Structs.OnHost(new HostRegion.Segment(bytes, false));
  }

  private void checkType(UnifiedBuffer<R[]> structs) {
    Objects.requireNonNull(structs, "buffer");
    if (!structs.elementType().equals(type)) {
      throw new IllegalArgumentException(
          "the buffer holds " + structs.elementType() + ", not " + type + "; use as() first");
    }
  }

  private void checkRoom(String what, long room) {
    if (room < length) {
      throw new IndexOutOfBoundsException(
          "the %s has room for %s records, but %s needs %s".formatted(what, room, this, length));
    }
  }

  private SoaConversion conversion(Structs structs, long offset, long count, boolean joins) {
    return new SoaConversion(
        context, type, structs, List.copyOf(buffers.values()), offset, count, joins);
  }

  private int fitting(R[] source) {
    checkOpen();
    Objects.requireNonNull(source, "source");
    Objects.checkFromIndexSize(0L, (long) source.length, length);
    return source.length;
  }

  private int requiredBy(R[] destination) {
    checkOpen();
    Objects.requireNonNull(destination, "destination");
    checkRoom("array", destination.length);
    return (int) length;
  }

  private void checkOpen() {
    if (closed) {
      throw new IllegalStateException(this + " is closed; allocate another, or close it later");
    }
  }

  @Override
  public void close() {
    closed = true;
    buffers.values().forEach(UnifiedBuffer::close);
  }

  @Override
  public String toString() {
    return "struct of arrays (" + type + "[" + length + "])";
  }
}

package dev.tidepool.testkit.conformance;

import dev.tidepool.AbstractUnifiedBuffer;
import dev.tidepool.Accelerator;
import dev.tidepool.ElementType;
import dev.tidepool.MemoryLocation;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/** A buffer that a program implements; the library has no information about it. */
final class ForeignBuffer<A> extends AbstractUnifiedBuffer<A> {
  private final ElementType<A> type;
  private final MemorySegment bytes;
  private final Accelerator accelerator;

  /** Creates a buffer over a heap array. */
  ForeignBuffer(ElementType<A> type, long length, Accelerator accelerator) {
    this(type, MemorySegment.ofArray(new byte[Math.toIntExact(type.bytes(length))]), accelerator);
  }

  /** Creates a buffer over a segment. */
  ForeignBuffer(ElementType<A> type, MemorySegment bytes, Accelerator accelerator) {
    this.type = type;
    this.bytes = bytes;
    this.accelerator = accelerator;
  }

  static <A> ForeignBuffer<A> inNativeMemory(
      ElementType<A> type, long length, Accelerator accelerator) {
    return new ForeignBuffer<>(type, Arena.ofAuto().allocate(type.bytes(length), 8), accelerator);
  }

  @Override
  public ElementType<A> elementType() {
    return type;
  }

  @Override
  public long length() {
    return type.elements(bytes.byteSize());
  }

  @Override
  public MemoryLocation location() {
    return MemoryLocation.HOST;
  }

  @Override
  public Accelerator accelerator() {
    return accelerator;
  }

  @Override
  public MemorySegment asSegment() {
    return bytes;
  }

  @Override
  public void close() {
    // the garbage collector frees the bytes
  }
}

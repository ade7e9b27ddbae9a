package dev.tidepool.stream;

import dev.tidepool.ElementType;
import dev.tidepool.UnifiedBuffer;
import java.lang.foreign.MemorySegment;

/** A buffer as a source or a sink, wherever its bytes are; a mapped file may exceed memory. */
record BufferElements(UnifiedBuffer<?> buffer) implements ElementSource, ElementSink {
  @Override
  public ElementType<?> elementType() {
    return buffer.elementType();
  }

  @Override
  public long length() {
    return buffer.length();
  }

  @Override
  public void read(long elementOffset, MemorySegment destination) {
    buffer.copyTo(elementOffset, destination);
  }

  @Override
  public void write(long elementOffset, MemorySegment source) {
    buffer.copyFrom(source, elementOffset);
  }
}

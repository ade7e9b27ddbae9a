package dev.tidepool.stream.pipeline;

import dev.tidepool.ElementType;
import dev.tidepool.OutOfDeviceMemoryException;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.runtime.buffer.MemoryRange;
import java.lang.foreign.MemorySegment;
import java.util.Objects;

/** A buffer as a source or a sink, wherever its bytes are; a mapped file may exceed memory. */
public record BufferEndpoint<A>(UnifiedBuffer<A> buffer) implements Source, Sink {
  /** Checks that there is a buffer. */
  public BufferEndpoint {
    Objects.requireNonNull(buffer, "buffer");
  }

  @Override
  public ElementType<A> elementType() {
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

  /** Copies by the path that the transfer engine chooses for the location of the newest bytes. */
  @Override
  public boolean load(
      long elementOffset, UnifiedBuffer<?> destination, UnifiedMemoryManager memory) {
    try (UnifiedBuffer<A> part = buffer.slice(elementOffset, destination.length())) {
      @SuppressWarnings("unchecked") // a pipeline's chunks have their sources' type
      UnifiedBuffer<A> chunk = (UnifiedBuffer<A>) destination;
      chunk.copyFrom(part);
      return true;
    } catch (OutOfDeviceMemoryException e) {
      throw e; // a smaller chunk may find room
    } catch (RuntimeException _) {
      return false; // if the buffer is the cause, read fails, too
    }
  }

  @Override
  public void write(long elementOffset, MemorySegment source) {
    buffer.copyFrom(source, elementOffset);
  }

  @Override
  public MemoryRange bytes() {
    return MemoryRange.of(buffer);
  }
}

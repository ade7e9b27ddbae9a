package dev.tidepool.stream;

import dev.tidepool.ElementType;
import dev.tidepool.stream.file.AtomicFile;
import dev.tidepool.stream.pipeline.Sink;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/** A sink of a type that users see; a {@code .npy} file is the only one that is known. */
record UserSink(ElementSink sink) implements Sink {
  @Override
  public ElementType<?> elementType() {
    return sink.elementType();
  }

  @Override
  public long length() {
    return sink.length();
  }

  @Override
  public void write(long elementOffset, MemorySegment source) {
    sink.write(elementOffset, source);
  }

  @Override
  public @Nullable AtomicFile file() {
    return sink instanceof NpyWriter writer ? writer.file() : null;
  }
}

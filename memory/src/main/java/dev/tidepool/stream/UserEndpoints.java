package dev.tidepool.stream;

import dev.tidepool.ElementType;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.runtime.buffer.MemoryRange;
import dev.tidepool.stream.file.AtomicFile;
import dev.tidepool.stream.file.PositionalFile;
import dev.tidepool.stream.pipeline.Sink;
import dev.tidepool.stream.pipeline.Source;
import java.lang.foreign.MemorySegment;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Adapts sources and sinks of users to pipelines. Where the elements are is known only of {@code
 * .npy} files.
 */
final class UserEndpoints {
  private UserEndpoints() {}

  record UserSource(ElementSource source) implements Source {
    UserSource {
      Objects.requireNonNull(source, "source");
    }

    @Override
    public ElementType<?> elementType() {
      return source.elementType();
    }

    @Override
    public long length() {
      return source.length();
    }

    @Override
    public void read(long elementOffset, MemorySegment destination) {
      source.read(elementOffset, destination);
    }

    @Override
    public boolean load(
        long elementOffset, UnifiedBuffer<?> destination, UnifiedMemoryManager memory) {
      return source.load(elementOffset, destination, memory);
    }

    @Override
    public @Nullable MemoryRange bytes() {
      return source instanceof NpyReader reader ? reader.bytes() : null;
    }

    @Override
    public @Nullable PositionalFile plainFile() {
      return source instanceof NpyReader reader ? reader.plainFile() : null;
    }
  }

  record UserSink(ElementSink sink) implements Sink {
    UserSink {
      Objects.requireNonNull(sink, "sink");
    }

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
}

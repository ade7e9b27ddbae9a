package dev.tidepool;

import java.nio.file.Path;
import java.util.Objects;

/**
 * A file of elements and nothing else, in the platform's byte order, which is streamed: an argument
 * of kernels by name, or a source or a result of a {@link dev.tidepool.stream.Pipeline}.
 *
 * {@snippet :
 * tidepool
 *     .orchestrator()
 *     .execute("scale", Arguments.of("x", new RawFile<>(Path.of("x.bin"), ElementType.FLOAT)));
 * }
 *
 * <p>A file that is read has a whole number of elements, and must not be changed meanwhile. A file
 * that is written appears whole or not at all.
 *
 * @param path where the file is, or will be
 * @param type what the elements are
 * @param <A> the Java array that carries elements
 */
public record RawFile<A>(Path path, ElementType<A> type) {
  /** Checks that both are there. */
  public RawFile {
    Objects.requireNonNull(path, "path");
    Objects.requireNonNull(type, "type");
  }
}

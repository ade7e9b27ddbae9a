package dev.tidepool;

import java.nio.file.Path;
import java.util.Objects;

/**
 * A file that contains only elements, in the platform's byte order, and is streamed. It is an
 * argument of kernels by name, or a source or a result of a {@link dev.tidepool.stream.Pipeline}.
 *
 * {@snippet :
 * tidepool
 *     .orchestrator()
 *     .execute("scale", Arguments.of("x", new RawFile<>(Path.of("x.bin"), ElementType.FLOAT)));
 * }
 *
 * <p>A file that is read must have a whole number of elements, and must not change meanwhile. A
 * written file appears completely or not at all.
 *
 * @param path where the file is, or will be
 * @param type the type of the elements
 * @param <A> the Java array that carries elements
 */
public record RawFile<A>(Path path, ElementType<A> type) {
  /** Checks that neither component is null. */
  public RawFile {
    Objects.requireNonNull(path, "path");
    Objects.requireNonNull(type, "type");
  }
}

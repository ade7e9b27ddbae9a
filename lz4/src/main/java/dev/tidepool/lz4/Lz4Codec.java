package dev.tidepool.lz4;

import dev.tidepool.codec.ByteSource;
import dev.tidepool.codec.FileCodec;
import java.io.IOException;
import java.nio.file.Path;

/** Lets {@code dev.tidepool.memory} read LZ4 files; found as a service. */
public final class Lz4Codec implements FileCodec {
  /** Creates a codec, for {@link java.util.ServiceLoader}. */
  public Lz4Codec() {}

  @Override
  public ByteSource open(Path path, ByteSource file) throws IOException {
    return new Lz4File(path, file);
  }
}

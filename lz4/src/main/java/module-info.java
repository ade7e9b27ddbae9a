import dev.tidepool.codec.FileCodec;
import dev.tidepool.lz4.Lz4Codec;

/** LZ4 files as inputs, and compressed transfers; found as a service. */
// The digit at the end of the name, about which javac warns, belongs to the format's name.
@SuppressWarnings("module")
module dev.tidepool.lz4 {
  requires aircompressor.v3;
  requires transitive dev.tidepool.memory;
  // If aircompressor has no native code for the platform, its Java code needs sun.misc.Unsafe.
  requires jdk.unsupported;
  requires static org.jspecify;

  exports dev.tidepool.lz4;

  provides FileCodec with
      Lz4Codec;
}

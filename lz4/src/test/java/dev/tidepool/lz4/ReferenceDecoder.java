package dev.tidepool.lz4;

import java.util.Optional;

/** LZ4's block format byte by byte, as its description has it: what decoders are compared with. */
final class ReferenceDecoder {
  private final byte[] in;
  private final byte[] out;
  private int at;
  private int done;

  private ReferenceDecoder(byte[] block, int room) {
    in = block;
    out = new byte[room];
  }

  /** What a block decodes to; empty if it is damaged or has more bytes than there is room for. */
  static Optional<byte[]> decode(byte[] block, int room) {
    ReferenceDecoder decoder = new ReferenceDecoder(block, room);
    try {
      decoder.run();
    } catch (IndexOutOfBoundsException _) {
      return Optional.empty();
    }
    return Optional.of(java.util.Arrays.copyOf(decoder.out, decoder.done));
  }

  private void run() {
    while (true) {
      int token = next();
      for (int literals = length(token >>> 4); literals > 0; literals--) {
        out[done++] = (byte) next();
      }
      if (at == in.length) {
        return;
      }
      int offset = next() | next() << 8;
      if (offset == 0) {
        throw new IndexOutOfBoundsException("offset 0");
      }
      for (int match = length(token & 15) + 4; match > 0; match--) {
        out[done] = out[done - offset];
        done++;
      }
    }
  }

  private int next() {
    return in[at++] & 0xff;
  }

  private int length(int inToken) {
    int length = inToken;
    if (inToken == 15) {
      int more;
      do {
        more = next();
        length += more;
      } while (more == 255);
    }
    return length;
  }
}

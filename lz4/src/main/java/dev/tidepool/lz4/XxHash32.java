package dev.tidepool.lz4;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;

/**
 * The checksum of LZ4 frames, over bytes that arrive piece by piece. Used by one thread at a time.
 *
 * <p>It is Yann Collet's XXH32 (<a
 * href="https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md">specification</a>) with the
 * seed 0: four sums run over 16 bytes at a time, and are folded at the end with the remaining
 * bytes.
 */
final class XxHash32 {
  private static final ValueLayout.OfInt INT =
      ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
  private static final int PRIME_1 = 0x9E3779B1;
  private static final int PRIME_2 = 0x85EBCA77;
  private static final int PRIME_3 = 0xC2B2AE3D;
  private static final int PRIME_4 = 0x27D4EB2F;
  private static final int PRIME_5 = 0x165667B1;
  private static final int STRIPE = 16;

  /** The sum of the first two primes, in 32 bits. */
  private int sum1 = 0x24234428;

  private int sum2 = PRIME_2;
  private int sum3;
  private int sum4 = -PRIME_1;
  private long length;

  /** Bytes since the last whole stripe. */
  private final byte[] rest = new byte[STRIPE];

  private int restLength;

  /** Returns the checksum of all bytes of a segment. */
  static int of(MemorySegment bytes) {
    XxHash32 hash = new XxHash32();
    hash.update(bytes);
    return hash.value();
  }

  /** Adds the next bytes. */
  void update(MemorySegment bytes) {
    long at = 0;
    long end = bytes.byteSize();
    length += end;
    if (restLength > 0) {
      at = Math.min(STRIPE - restLength, end);
      MemorySegment.copy(bytes, JAVA_BYTE, 0, rest, restLength, (int) at);
      restLength += (int) at;
      if (restLength < STRIPE) {
        return;
      }
      stripes(MemorySegment.ofArray(rest), 0, STRIPE);
    }
    long whole = end - (end - at) % STRIPE;
    stripes(bytes, at, whole);
    restLength = (int) (end - whole);
    MemorySegment.copy(bytes, JAVA_BYTE, whole, rest, 0, restLength);
  }

  private void stripes(MemorySegment bytes, long from, long to) {
    int a = sum1;
    int b = sum2;
    int c = sum3;
    int d = sum4;
    for (long at = from; at < to; at += STRIPE) {
      a = round(a, bytes.get(INT, at));
      b = round(b, bytes.get(INT, at + 4));
      c = round(c, bytes.get(INT, at + 8));
      d = round(d, bytes.get(INT, at + 12));
    }
    sum1 = a;
    sum2 = b;
    sum3 = c;
    sum4 = d;
  }

  private static int round(int sum, int lane) {
    return Integer.rotateLeft(sum + lane * PRIME_2, 13) * PRIME_1;
  }

  /** Returns the checksum of the bytes so far; more may follow. */
  int value() {
    int hash =
        length < STRIPE
            ? PRIME_5
            : Integer.rotateLeft(sum1, 1)
                + Integer.rotateLeft(sum2, 7)
                + Integer.rotateLeft(sum3, 12)
                + Integer.rotateLeft(sum4, 18);
    hash += (int) length;
    MemorySegment left = MemorySegment.ofArray(rest);
    int at = 0;
    for (; at + 4 <= restLength; at += 4) {
      hash = Integer.rotateLeft(hash + left.get(INT, at) * PRIME_3, 17) * PRIME_4;
    }
    for (; at < restLength; at++) {
      hash = Integer.rotateLeft(hash + (rest[at] & 0xff) * PRIME_5, 11) * PRIME_1;
    }
    hash = (hash ^ (hash >>> 15)) * PRIME_2;
    hash = (hash ^ (hash >>> 13)) * PRIME_3;
    return hash ^ (hash >>> 16);
  }
}

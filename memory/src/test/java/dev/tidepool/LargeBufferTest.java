package dev.tidepool;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import org.junit.jupiter.api.Test;

/**
 * A buffer of 3 GiB: lengths and offsets beyond what an int holds. Little of it is ever touched.
 */
final class LargeBufferTest {
  private static final long LENGTH = 3L << 30;
  private static final int PART = 10_000;

  /** At the front, where an int ends, and where the buffer ends. */
  private static final long[] PLACES = {0, (1L << 31) - PART / 2, LENGTH - PART};

  @Test
  void isWrittenCopiedAndComputedWithOnBothSidesOfWhereAnIntEndsAndAtItsEnd() {
    try (UnifiedMemoryManager memory = UnifiedMemoryManager.create()) {
      assumeTrue(
          memory.accelerator().memory().freeBytes() > LENGTH + (1L << 30), "too little memory");
      Kernel kernel = memory.compile(KernelSource.elementwise("y = x + 1"));
      try (UnifiedBuffer<byte[]> large = memory.allocate(ElementType.BYTE, LENGTH)) {
        assertThat(large.length()).isEqualTo(LENGTH);
        assertThat(large.byteSize()).isEqualTo(LENGTH);
        for (long place : PLACES) {
          large.copyFrom(pattern(place), 0, place, PART);
        }
        MemorySegment all = large.asReadOnlySegment();
        assertThat(all.byteSize()).isEqualTo(LENGTH);
        for (long place : PLACES) {
          assertThat(all.asSlice(place, PART).toArray(ValueLayout.JAVA_BYTE))
              .isEqualTo(pattern(place));
        }
        for (long place : PLACES) {
          try (UnifiedBuffer<byte[]> part = large.slice(place, PART)) {
            kernel.execute(Arguments.of("x", part, "y", part));
          }
        }
        large.slice(PLACES[0], PART).copyFrom(large.slice(PLACES[2], PART));
        large.slice(PLACES[2] + 1, PART - 1).fill((byte) 7);
        byte[] seen = new byte[PART];
        large.copyTo(PLACES[0], seen, 0, PART);
        assertThat(seen).isEqualTo(increased(pattern(PLACES[2])));
        large.copyTo(PLACES[1], seen, 0, PART);
        assertThat(seen).isEqualTo(increased(pattern(PLACES[1])));
        large.copyTo(PLACES[2], seen, 0, PART);
        assertThat(seen[0]).isEqualTo(increased(pattern(PLACES[2]))[0]);
        assertThat(Arrays.copyOfRange(seen, 1, PART)).containsOnly(7);
        try (UnifiedBuffer<int[]> ints = large.as(ElementType.INT)) {
          assertThat(ints.length()).isEqualTo(LENGTH / 4);
          int[] last = new int[1];
          ints.copyTo(LENGTH / 4 - 1, last, 0, 1);
          assertThat(last).containsExactly(0x07070707);
        }
        assertThatThrownBy(() -> large.copyTo(LENGTH - PART + 1, seen, 0, PART))
            .isInstanceOf(IndexOutOfBoundsException.class);
        assertThat(memory.statistics().totalAllocated()).isEqualTo(LENGTH);
      }
      assertThat(memory.statistics().totalPooled()).as("more than a class may keep").isZero();
    }
  }

  private static byte[] pattern(long place) {
    byte[] bytes = new byte[PART];
    for (int i = 0; i < PART; i++) {
      bytes[i] = (byte) ((place + i) * 31 >> 3);
    }
    return bytes;
  }

  private static byte[] increased(byte[] bytes) {
    for (int i = 0; i < bytes.length; i++) {
      bytes[i]++;
    }
    return bytes;
  }
}

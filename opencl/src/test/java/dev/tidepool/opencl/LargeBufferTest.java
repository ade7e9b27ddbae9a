package dev.tidepool.opencl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.tidepool.Arguments;
import dev.tidepool.ElementType;
import dev.tidepool.Kernel;
import dev.tidepool.KernelSource;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * A device buffer of more than 4 GiB, where the device allows one. Little of it is ever touched.
 */
@ExtendWith(NothingLeaks.class)
@Timeout(120)
class LargeBufferTest {
  private static final long LENGTH = (4L << 30) + (16 << 20);
  private static final int PART = 10_000;

  /** At the front, where signed and unsigned 32 bits end, and where the buffer ends. */
  private static final long[] PLACES = {
    0, (1L << 31) - PART / 2, (1L << 32) - PART / 2, LENGTH - PART
  };

  @ParameterizedTest
  @EnumSource(names = {"FINE_SHARED_POINTERS", "DISCRETE"})
  void isWrittenComputedWithAndReadBeyond32Bits(MemoryMode mode) {
    try (Tidepool tidepool = OpenClConformance.open(mode)) {
      UnifiedMemoryManager memory = tidepool.memory(tidepool.accelerator("opencl:0"));
      long free = tidepool.accelerator("cpu:0").memory().freeBytes();
      assumeTrue(memory.accelerator().maximumAllocation() >= LENGTH, "the device gives less");
      assumeTrue(free > LENGTH + (2L << 30), "too little memory");
      Kernel kernel = memory.compile(KernelSource.elementwise("y = x + 1"));
      try (UnifiedBuffer<byte[]> large = memory.allocate(ElementType.BYTE, LENGTH)) {
        for (long place : PLACES) {
          large.copyFrom(pattern(place), 0, place, PART);
        }
        for (long place : PLACES) {
          try (UnifiedBuffer<byte[]> part = large.slice(place, PART)) {
            kernel.execute(Arguments.of("x", part, "y", part));
          }
        }
        for (long place : PLACES) {
          byte[] expected = pattern(place);
          for (int i = 0; i < PART; i++) {
            expected[i]++;
          }
          byte[] seen = new byte[PART];
          large.copyTo(place, seen, 0, PART);
          assertThat(seen).as("at %d", place).isEqualTo(expected);
        }
      }
    }
  }

  private static byte[] pattern(long place) {
    byte[] bytes = new byte[PART];
    for (int i = 0; i < PART; i++) {
      bytes[i] = (byte) ((place >> 20) + i * 31 >> 3);
    }
    return bytes;
  }
}

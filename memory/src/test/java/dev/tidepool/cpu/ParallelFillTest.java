package dev.tidepool.cpu;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.Allocation;
import dev.tidepool.ElementType;
import dev.tidepool.MapMode;
import dev.tidepool.MemoryLocation;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Memory of the host is set by several threads as by one. */
class ParallelFillTest {
  private static final int MIB = 1 << 20;
  private static final int MARGIN = 64;
  private static final byte OUTSIDE = 99;

  @TempDir private Path folder;

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 4, 8, 16, 24, 65_537, 3 * MIB})
  void everyByteIsThePatternsAndNoneOutsideChanges(int width) {
    byte[] pattern = new byte[width];
    for (int i = 0; i < width; i++) {
      pattern[i] = (byte) (i % 97 + i / 256 + 1);
    }
    for (int bytes : new int[] {0, 1, 100, MIB - 1, MIB, 8 * MIB - 1, 8 * MIB, 11 * MIB + 7}) {
      try (Arena arena = Arena.ofShared()) {
        MemorySegment all = arena.allocate(bytes + 2L * MARGIN).fill(OUTSIDE);
        ParallelFill.fill(all.asSlice(MARGIN, bytes), MemorySegment.ofArray(pattern));
        byte[] found = all.toArray(JAVA_BYTE);
        byte[] expected = new byte[found.length];
        for (int i = 0; i < expected.length; i++) {
          boolean isInside = i >= MARGIN && i < MARGIN + bytes;
          expected[i] = isInside ? pattern[(i - MARGIN) % width] : OUTSIDE;
        }
        assertThat(found).as("%d bytes by %d", bytes, width).isEqualTo(expected);
      }
    }
  }

  @Test
  void aMappedFileIsFilled() throws IOException {
    Path file = folder.resolve("file");
    Files.write(file, new byte[9 * MIB]);
    try (UnifiedMemoryManager memory = UnifiedMemoryManager.create();
        UnifiedBuffer<int[]> buffer = memory.map(file, ElementType.INT, MapMode.READ_WRITE)) {
      buffer.fill(new int[] {1, 2, 3});
      int[] found = new int[9 * MIB / Integer.BYTES];
      buffer.copyTo(found);
      assertThat(found).isEqualTo(IntStream.range(0, found.length).map(i -> i % 3 + 1).toArray());
    }
  }

  @Test
  void aLargeBufferComesClearedFromMemoryThatWasUsed() {
    try (UnifiedMemoryManager memory = UnifiedMemoryManager.create()) {
      try (UnifiedBuffer<byte[]> before = memory.allocate(ElementType.BYTE, 9 * MIB)) {
        before.fill((byte) 5);
      }
      byte[] found = new byte[9 * MIB];
      try (UnifiedBuffer<byte[]> cleared =
          memory.allocate(
              ElementType.BYTE, 9 * MIB, Allocation.at(MemoryLocation.DEVICE).zeroed())) {
        cleared.copyTo(found);
      }
      assertThat(found).isEqualTo(new byte[9 * MIB]);
    }
  }
}

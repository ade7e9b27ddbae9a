package dev.tidepool.opencl;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.spi.Block;
import dev.tidepool.spi.BlockKind;
import dev.tidepool.spi.Device;
import dev.tidepool.spi.HostAccess;
import dev.tidepool.spi.Queue;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Bytes arrive where they were sent, from everywhere to everywhere, at every offset. */
@ExtendWith(NothingLeaks.class)
class CopyTest {
  private static final int SIZE = 4096;
  private static final long[][] RANGES = {
    {0, 0, SIZE}, {1, 0, 7}, {0, 3, 1}, {5, 129, 1000}, {128, 256, 512}, {4095, 4094, 1}
  };

  private static List<BlockKind> kinds(MemoryMode mode) {
    List<BlockKind> kinds = new ArrayList<>(List.of(BlockKind.DEVICE, BlockKind.PINNED));
    if (mode.unified) {
      kinds.add(BlockKind.UNIFIED);
    }
    return kinds;
  }

  @ParameterizedTest
  @EnumSource
  void hostToDeviceAndBackAtAnyOffset(MemoryMode mode) {
    try (Device device = mode.open();
        Queue queue = device.createQueue()) {
      for (BlockKind kind : kinds(mode)) {
        Block block = device.allocate(SIZE, 64, kind);
        byte[] expected = Bytes.pattern(SIZE, 1);
        Bytes.write(queue, expected, block, 0);
        for (long[] range : RANGES) {
          byte[] part = Bytes.pattern((int) range[2], range[0] + 77);
          int offset = (int) range[1];
          int count = (int) Math.min(range[2], SIZE - offset);
          part = Arrays.copyOf(part, count);
          Bytes.write(queue, part, block, offset);
          System.arraycopy(part, 0, expected, offset, count);
          assertThat(Bytes.read(queue, block, offset, count)).isEqualTo(part);
          assertThat(Bytes.read(queue, block, 0, SIZE)).as("%s", kind).isEqualTo(expected);
        }
        block.free();
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void blockToBlockOfEveryKindAtAnyOffset(MemoryMode mode) {
    try (Device device = mode.open();
        Queue queue = device.createQueue()) {
      for (BlockKind from : kinds(mode)) {
        for (BlockKind to : kinds(mode)) {
          Block source = device.allocate(SIZE, 64, from);
          Block target = device.allocate(SIZE, 64, to);
          byte[] sent = Bytes.pattern(SIZE, 2);
          byte[] expected = Bytes.pattern(SIZE, 3);
          Bytes.write(queue, sent, source, 0);
          Bytes.write(queue, expected, target, 0);
          for (long[] range : RANGES) {
            Bytes.await(queue.copy(source, range[0], target, range[1], range[2]));
            System.arraycopy(sent, (int) range[0], expected, (int) range[1], (int) range[2]);
            assertThat(Bytes.read(queue, target, 0, SIZE))
                .as("%s to %s, %s", from, to, Arrays.toString(range))
                .isEqualTo(expected);
          }
          source.free();
          target.free();
        }
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void fillSetsExactlyTheBytesAsked(MemoryMode mode) {
    try (Device device = mode.open();
        Queue queue = device.createQueue()) {
      for (BlockKind kind : kinds(mode)) {
        Block block = device.allocate(SIZE, 64, kind);
        byte[] expected = Bytes.pattern(SIZE, 4);
        Bytes.write(queue, expected, block, 0);
        for (int[] range : new int[][] {{0, 1}, {3, 5}, {127, 1000}, {4095, 1}, {0, SIZE}}) {
          byte value = (byte) (range[0] - 3);
          Bytes.await(queue.fill(block, range[0], range[1], value));
          Arrays.fill(expected, range[0], range[0] + range[1], value);
          assertThat(Bytes.read(queue, block, 0, SIZE)).as("%s", kind).isEqualTo(expected);
        }
        block.free();
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void countsOfZeroDoNothing(MemoryMode mode) {
    try (Device device = mode.open();
        Queue queue = device.createQueue()) {
      Block block = device.allocate(16, 1, BlockKind.DEVICE);
      byte[] before = Bytes.pattern(16, 5);
      Bytes.write(queue, before, block, 0);
      Bytes.write(queue, new byte[0], block, 16);
      Bytes.await(queue.fill(block, 16, 0, (byte) 1));
      Bytes.await(queue.copy(block, 0, block, 16, 0));
      assertThat(Bytes.read(queue, block, 16, 0)).isEmpty();
      assertThat(Bytes.read(queue, block, 0, 16)).isEqualTo(before);
      block.free();
    }
  }

  @ParameterizedTest
  @EnumSource
  void theHostSeesSharedMemoryWithoutACopy(MemoryMode mode) {
    try (Device device = mode.open();
        Queue queue = device.createQueue()) {
      for (BlockKind kind : kinds(mode)) {
        Block block = device.allocate(SIZE, 64, kind);
        if (kind == BlockKind.DEVICE) {
          assertThat(block.hostAccess()).isEqualTo(mode.hostAccess);
        }
        MemorySegment segment = block.segment();
        if (block.hostAccess() == HostAccess.NONE) {
          assertThat(segment).isNull();
        } else {
          assertThat(segment).isNotNull().isSameAs(block.segment());
          assertThat(segment.byteSize()).isEqualTo(SIZE);
          byte[] bytes = Bytes.pattern(SIZE, 6);
          Bytes.write(queue, bytes, block, 0);
          Bytes.await(queue.acquire(block));
          assertThat(segment.toArray(ValueLayout.JAVA_BYTE)).isEqualTo(bytes);
          segment.set(ValueLayout.JAVA_BYTE, 17, (byte) (bytes[17] + 1));
          bytes[17]++;
          Bytes.await(queue.release(block));
          assertThat(Bytes.read(queue, block, 0, SIZE)).isEqualTo(bytes);
        }
        block.free();
      }
    }
  }
}

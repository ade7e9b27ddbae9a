package dev.tidepool.cuda;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import dev.tidepool.spi.Block;
import dev.tidepool.spi.BlockKind;
import dev.tidepool.spi.Device;
import dev.tidepool.spi.Event;
import dev.tidepool.spi.Queue;
import java.lang.foreign.MemorySegment;
import java.util.Objects;
import java.util.SplittableRandom;

/** Patterns, and their way through pinned memory to and from a device's blocks. */
record Bytes(Device device, Queue queue) {
  static byte[] pattern(int count, long seed) {
    byte[] bytes = new byte[count];
    new SplittableRandom(seed).nextBytes(bytes);
    return bytes;
  }

  void write(byte[] source, Block target, long offset) {
    Block staging = device.allocate(source.length, 64, BlockKind.PINNED);
    MemorySegment bytes = Objects.requireNonNull(staging.segment());
    bytes.copyFrom(MemorySegment.ofArray(source));
    await(queue.write(bytes, target, offset));
    staging.free();
  }

  byte[] read(Block source, long offset, int count) {
    Block staging = device.allocate(count, 64, BlockKind.PINNED);
    MemorySegment bytes = Objects.requireNonNull(staging.segment());
    await(queue.read(source, offset, bytes));
    byte[] read = bytes.toArray(JAVA_BYTE);
    staging.free();
    return read;
  }

  static void await(Event event) {
    try (event) {
      event.await();
    }
  }
}

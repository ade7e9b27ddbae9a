package dev.tidepool.opencl;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import dev.tidepool.spi.Block;
import dev.tidepool.spi.Event;
import dev.tidepool.spi.Queue;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.SplittableRandom;

/** Patterns, and their way to and from a device's blocks. */
final class Bytes {
  private Bytes() {}

  static byte[] pattern(int count, long seed) {
    byte[] bytes = new byte[count];
    new SplittableRandom(seed).nextBytes(bytes);
    return bytes;
  }

  static void write(Queue queue, byte[] source, Block target, long offset) {
    try (Arena arena = Arena.ofConfined();
        Event done = queue.write(arena.allocateFrom(JAVA_BYTE, source), target, offset)) {
      done.await();
    }
  }

  static byte[] read(Queue queue, Block source, long offset, int count) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment target = arena.allocate(Math.max(1, count)).asSlice(0, count);
      try (Event done = queue.read(source, offset, target)) {
        done.await();
      }
      return target.toArray(JAVA_BYTE);
    }
  }

  static void await(Event event) {
    try (event) {
      event.await();
    }
  }
}

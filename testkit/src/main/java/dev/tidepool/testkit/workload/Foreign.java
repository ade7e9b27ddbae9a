package dev.tidepool.testkit.workload;

import dev.tidepool.Allocation;
import dev.tidepool.ElementType;
import dev.tidepool.MapMode;
import dev.tidepool.MemoryLocation;
import dev.tidepool.NativeAccess;
import dev.tidepool.NativeUse;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.function.Supplier;

/**
 * A buffer over memory that outlives it. The memory is zero at first, and has at least one element.
 *
 * @param outlived reads the same bytes in another way after the buffer is closed; called once
 */
record Foreign(UnifiedBuffer<int[]> buffer, Supplier<int[]> outlived) {

  /** Returns a buffer over native memory, which lives as long as it is reachable. */
  static Foreign wrapped(UnifiedMemoryManager manager, int length) {
    MemorySegment memory = Arena.ofAuto().allocate(bytes(length), Integer.BYTES);
    return new Foreign(manager.wrap(ElementType.INT, memory), () -> ints(memory));
  }

  /** Returns a buffer over device memory of the manager, which a lent buffer owns. */
  static Foreign adopted(UnifiedMemoryManager manager, int length) {
    Allocation onDevice = Allocation.at(MemoryLocation.DEVICE).zeroed().tag("lent to be adopted");
    UnifiedBuffer<int[]> owner = manager.allocate(ElementType.INT, length, onDevice);
    NativeAccess access = null;
    try {
      access = manager.lend(NativeUse.readWrite(owner));
      return new Foreign(
          manager.adopt(ElementType.INT, access.handle(owner), access::close), () -> taken(owner));
    } catch (RuntimeException | Error e) {
      if (access != null) {
        access.close();
      }
      owner.close();
      throw e;
    }
  }

  private static int[] taken(UnifiedBuffer<int[]> owner) {
    try (owner) {
      int[] values = new int[Math.toIntExact(owner.length())];
      owner.copyTo(values);
      return values;
    }
  }

  private static int[] ints(MemorySegment memory) {
    return memory.toArray(ValueLayout.JAVA_INT);
  }

  /** Returns the contents of the memory. */
  int[] contents() {
    return outlived.get();
  }

  /** Returns a buffer over a file that no longer has a name. */
  static Foreign mapped(UnifiedMemoryManager manager, int length) {
    try {
      Path file = Files.createTempFile("tidepool-workload", ".raw");
      try {
        MemorySegment memory;
        try (FileChannel channel =
            FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
          channel.write(ByteBuffer.allocate(1), bytes(length) - 1);
          memory = channel.map(FileChannel.MapMode.READ_ONLY, 0, bytes(length), Arena.ofAuto());
        }
        return new Foreign(
            manager.map(file, ElementType.INT, MapMode.READ_WRITE), () -> ints(memory));
      } finally {
        delete(file);
      }
    } catch (IOException e) {
      throw new UncheckedIOException("no file for a mapped buffer", e);
    }
  }

  private static long bytes(int length) {
    return (long) Integer.BYTES * length;
  }

  private static void delete(Path file) {
    try {
      Files.delete(file);
    } catch (IOException stillMapped) {
      file.toFile().deleteOnExit(); // some systems do not delete a file in use
    }
  }
}

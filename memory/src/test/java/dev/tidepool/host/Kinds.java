package dev.tidepool.host;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.stream.Stream;

/** Every kind of memory that an operation may be given, at kind and unkind addresses. */
public enum Kinds {
  NATIVE {
    @Override
    public MemorySegment allocate(Arena arena, long bytes) {
      return own(arena, bytes);
    }
  },
  MISALIGNED {
    @Override
    public MemorySegment allocate(Arena arena, long bytes) {
      return own(arena, bytes + 7).asSlice(3, bytes);
    }
  },
  BYTES_OF_THE_HEAP {
    @Override
    public MemorySegment allocate(Arena arena, long bytes) {
      return MemorySegment.ofArray(new byte[Math.toIntExact(bytes) + 5]).asSlice(5, bytes);
    }
  },
  LONGS_OF_THE_HEAP {
    @Override
    public MemorySegment allocate(Arena arena, long bytes) {
      return MemorySegment.ofArray(new long[Math.toIntExact(bytes / 8) + 1]).asSlice(0, bytes);
    }
  },
  MAPPED {
    @Override
    public MemorySegment allocate(Arena arena, long bytes) {
      try {
        Path file = Files.createTempFile("operations", ".bytes");
        try (FileChannel channel =
            FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
          return channel.map(FileChannel.MapMode.READ_WRITE, 0, bytes, arena);
        } finally {
          Files.delete(file);
        }
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  };

  /** Zeroed memory of the library's, which has the fast ways, freed with the arena. */
  public static MemorySegment own(Arena arena, long bytes) {
    HostBlock block = new MemoryAllocator().allocate(bytes);
    return block.segment().reinterpret(arena, _ -> block.free()).fill((byte) 0);
  }

  /** Zeroed, of exactly so many bytes. */
  public abstract MemorySegment allocate(Arena arena, long bytes);

  /** Memory to read and memory to write. */
  public record Pair(Kinds read, Kinds written) {}

  /** Every kind beside native memory, and native beside native. */
  public static Stream<Pair> pairs() {
    return Stream.concat(
        List.of(values()).stream().map(kind -> new Pair(kind, NATIVE)),
        List.of(values()).stream().skip(1).map(kind -> new Pair(NATIVE, kind)));
  }
}

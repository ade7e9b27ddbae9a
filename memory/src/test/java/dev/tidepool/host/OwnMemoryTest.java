package dev.tidepool.host;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.host.system.OwnMemory;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class OwnMemoryTest {
  @ParameterizedTest
  @ValueSource(longs = {1, 64, 4096, 3 << 20})
  void aBlockIsOwnUntilItIsFreed(long bytes) {
    HostBlock block = new MemoryAllocator().allocate(bytes);
    MemorySegment segment = block.segment();
    assertThat(OwnMemory.contains(segment)).isTrue();
    block.free();
    assertThat(OwnMemory.contains(segment)).isFalse();
  }

  @Test
  void soIsOneThatComesFromJavasArenas() {
    HostBlock block = new MemoryAllocator(false).allocate(4096);
    assertThat(OwnMemory.contains(block.segment())).isTrue();
    block.free();
    assertThat(OwnMemory.contains(block.segment())).isFalse();
  }

  @Test
  void partsAndViewsOfABlockAreOwn() {
    HostBlock block = new MemoryAllocator().allocate(4096);
    MemorySegment segment = block.segment();
    try (Arena arena = Arena.ofConfined()) {
      assertThat(
              List.of(
                  segment.asSlice(0, 8),
                  segment.asSlice(4095, 1),
                  segment.asReadOnly(),
                  segment.reinterpret(arena, null),
                  MemorySegment.ofBuffer(segment.asByteBuffer().asReadOnlyBuffer()),
                  MemorySegment.ofBuffer(segment.asByteBuffer().asLongBuffer())))
          .allMatch(OwnMemory::contains);
    }
    block.free();
  }

  @Test
  void whatReachesBeyondABlockIsNot() {
    HostBlock block = new MemoryAllocator().allocate(4096);
    long address = block.segment().address();
    assertThat(OwnMemory.contains(block.segment().reinterpret(4097))).isFalse();
    assertThat(OwnMemory.contains(MemorySegment.ofAddress(address - 1).reinterpret(2))).isFalse();
    block.free();
  }

  @Test
  void memoryOfOthersIsNot() {
    HostBlock block = new MemoryAllocator().allocate(4096);
    try (Arena arena = Arena.ofShared()) {
      MemorySegment segment = arena.allocate(4096);
      HostBlock wrapped = new MemoryAllocator().wrap(segment);
      HostBlock adopted = new MemoryAllocator().adopt(segment, () -> {});
      assertThat(
              List.of(
                  segment, wrapped.segment(), adopted.segment(), MemorySegment.ofArray(new int[4])))
          .noneMatch(OwnMemory::contains);
      wrapped.free();
      adopted.free();
    }
    assertThat(OwnMemory.contains(block.segment())).isTrue();
    block.free();
  }

  @Test
  void aDriversMemoryIsOwnWhileItIsViewed() {
    try (Arena arena = Arena.ofShared()) {
      MemorySegment memory = MemorySegment.ofAddress(arena.allocate(64).address()).reinterpret(64);
      DriverSegment view = new DriverSegment(memory);
      assertThat(OwnMemory.contains(view.segment())).isTrue();
      view.close();
      assertThat(OwnMemory.contains(memory)).isFalse();
    }
  }

  @Test
  void blocksAreOwnWhileOtherThreadsAllocateAndFree() throws Exception {
    MemoryAllocator allocator = new MemoryAllocator();
    try (ExecutorService threads = Executors.newFixedThreadPool(4)) {
      List<Future<?>> all = new ArrayList<>();
      for (int thread = 0; thread < 4; thread++) {
        all.add(
            threads.submit(
                () -> {
                  for (int i = 0; i < 200; i++) {
                    HostBlock block = allocator.allocate(64L << (i % 12));
                    assertThat(OwnMemory.contains(block.segment())).isTrue();
                    block.free();
                  }
                  return null;
                }));
      }
      for (Future<?> each : all) {
        each.get();
      }
    }
  }

  @Test
  @EnabledOnOs(OS.LINUX)
  void memoryOfAnArenaIsAnonymousAndThatOfAFileIsNot(@TempDir Path folder) throws IOException {
    Path file = Files.write(folder.resolve("bytes"), new byte[3 << 20]);
    try (Arena arena = Arena.ofShared();
        FileChannel channel =
            FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
      FileChannel.MapMode mode = FileChannel.MapMode.READ_WRITE;
      assertThat(OwnMemory.containsOrIsAnonymous(arena.allocate(64))).isTrue();
      assertThat(OwnMemory.containsOrIsAnonymous(arena.allocate(3 << 20))).isTrue();
      assertThat(OwnMemory.containsOrIsAnonymous(channel.map(mode, 0, 3 << 20, arena))).isFalse();
      MemorySegment view = MemorySegment.ofBuffer(channel.map(mode, 0, 3 << 20).asIntBuffer());
      assertThat(view.isMapped()).isFalse();
      assertThat(OwnMemory.containsOrIsAnonymous(view)).isFalse();
    }
  }
}

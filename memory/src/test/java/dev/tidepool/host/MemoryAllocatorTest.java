package dev.tidepool.host;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.OutOfDeviceMemoryException;
import dev.tidepool.spi.Block;
import dev.tidepool.spi.HostAccess;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class MemoryAllocatorTest {
  private static final long MIB = 1 << 20;

  private final MemoryAllocator allocator = new MemoryAllocator();

  @ParameterizedTest
  @ValueSource(longs = {1, 63, 4096, 65_537, MIB, 2 * MIB - 1, 2 * MIB, 5 * MIB + 3})
  void aBlockHasTheBytesAskedForAndKeepsWhatIsWritten(long bytes) {
    Block block = allocator.allocate(bytes);
    try {
      assertThat(block.byteSize()).isEqualTo(bytes);
      assertThat(block.hostAccess()).isEqualTo(HostAccess.DIRECT);
      assertThat(block.segment().byteSize()).isEqualTo(bytes);
      assertThat(block.segment()).isSameAs(block.segment());
      writePattern(block.segment(), bytes);
      assertPattern(block.segment(), bytes);
    } finally {
      block.free();
    }
  }

  @Test
  void smallBlocksStartAtACacheLineAndLargeOnesAtAPage() {
    for (long bytes : new long[] {1, 1000, 65_535, 65_536, MIB, 3 * MIB}) {
      Block block = allocator.allocate(bytes);
      assertThat(block.segment().address() % (bytes < 65_536 ? 64 : 4096)).isZero();
      block.free();
    }
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 64, 4096, 65_536, 2 * MIB, 8 * MIB})
  void anyPowerOfTwoCanBeAskedForAsAlignment(long alignment) {
    for (long bytes : new long[] {1, 100, MIB, 2 * MIB, 3 * MIB + 1}) {
      Block block = allocator.allocate(bytes, alignment);
      assertThat(block.segment().address() % alignment).isZero();
      writePattern(block.segment(), bytes);
      assertPattern(block.segment(), bytes);
      block.free();
    }
  }

  /** At such distances the same elements of two arrays share a bank of the memory. */
  @Test
  void largeBlocksDoNotLieAMultipleOfTheirSizeApart() {
    long bytes = 256 * MIB;
    List<Block> blocks = new ArrayList<>();
    for (int i = 0; i < 4; i++) {
      Block block = allocator.allocate(bytes);
      for (Block other : blocks) {
        assertThat((block.segment().address() - other.segment().address()) % bytes).isNotZero();
      }
      blocks.add(block);
    }
    blocks.forEach(Block::free);
  }

  @Test
  void aSmallBlockAlignedToAGibibyteTakesNoGibibyte() throws Exception {
    for (HostRequest request :
        List.of(HostRequest.of(100), HostRequest.of(100).on(PageKind.SMALL), HostRequest.of(MIB))) {
      long before = ProcessMemory.addressSpaceInUse();
      Block block = allocator.allocate(request.aligned(1L << 30));
      assertThat(block.segment().address() % (1L << 30)).isZero();
      writePattern(block.segment(), 3);
      assertPattern(block.segment(), 3);
      assertThat(ProcessMemory.addressSpaceInUse() - before).isLessThan(512 * MIB);
      block.free();
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aBlockOfNoBytesIsLegal(boolean nativeAllocation) {
    MemoryAllocator allocator = new MemoryAllocator(nativeAllocation);
    HostBlock block = allocator.allocate(0, 4096);
    assertThat(block.byteSize()).isZero();
    assertThat(block.segment().byteSize()).isZero();
    assertThat(block.segment().address() % 4096).isZero();
    assertThat(block.residence()).contains(new PageResidency(0, 0, 0, Map.of()));
    HostBlock wishful =
        allocator.allocate(HostRequest.of(0).on(PageKind.EXPLICIT_HUGE).from(NumaPolicy.bind(0)));
    assertThat(wishful.byteSize()).isZero();
    assertThat(allocator.tryAllocateLocked(HostRequest.of(0), new PinnedBudget(MIB))).isEmpty();
    assertThat(allocator.statistics().allocated().blocks()).isEqualTo(2);
    block.free();
    wishful.free();
    assertThat(allocator.statistics().allocated().blocks()).isZero();
    assertThatIllegalStateException().isThrownBy(block::free).withMessageContaining("freed twice");
  }

  @Test
  void withoutTheCLibraryBlocksComeFromArenas() {
    MemoryAllocator plain = new MemoryAllocator(false);
    Block block = plain.allocate(100_000, 4096);
    assertThat(block.segment().address() % 4096).isZero();
    writePattern(block.segment(), 100_000);
    assertPattern(block.segment(), 100_000);
    assertThat(plain.tryAllocateLocked(HostRequest.of(4096), new PinnedBudget(MIB))).isEmpty();
    MemorySegment stale = block.segment();
    block.free();
    assertThatIllegalStateException().isThrownBy(() -> stale.get(JAVA_BYTE, 0));
  }

  @ParameterizedTest
  @ValueSource(longs = {100, 2 * MIB})
  void aStaleSegmentFailsInsteadOfReadingWhatIsNotOurs(long bytes) {
    Block block = allocator.allocate(bytes);
    MemorySegment segment = block.segment();
    MemorySegment slice = segment.asSlice(10, 20).asReadOnly();
    block.free();
    assertThatIllegalStateException().isThrownBy(() -> segment.set(JAVA_BYTE, 0, (byte) 1));
    assertThatIllegalStateException().isThrownBy(() -> slice.get(JAVA_BYTE, 0));
  }

  @Test
  void aSecondFreeIsRefusedAndHarmless() {
    Block block = allocator.allocate(100);
    block.free();
    assertThatIllegalStateException().isThrownBy(block::free).withMessageContaining("freed twice");
  }

  @Test
  void threadsThatReadABlockWhileItIsFreedGetExceptionsAndNeverCrash() throws Exception {
    for (int round = 0; round < 20; round++) {
      Block block = allocator.allocate(4 * MIB);
      MemorySegment segment = block.segment();
      List<Thread> readers = new ArrayList<>();
      List<Throwable> failures = Collections.synchronizedList(new ArrayList<>());
      for (int i = 0; i < 2; i++) {
        readers.add(
            Thread.ofPlatform()
                .start(
                    () -> {
                      try {
                        for (long offset = 0; ; offset = (offset + 4096) % (4 * MIB)) {
                          segment.set(JAVA_LONG, offset, offset);
                        }
                      } catch (IllegalStateException e) {
                        failures.add(e);
                      }
                    }));
      }
      Thread.yield();
      block.free();
      for (Thread reader : readers) {
        reader.join();
      }
      assertThat(failures).hasSize(2);
    }
  }

  @Test
  void whatCanNeverFitIsRefusedWithNumbers() {
    assertThatThrownBy(() -> allocator.allocate(1L << 50))
        .isInstanceOfSatisfying(
            OutOfDeviceMemoryException.class,
            e -> {
              assertThat(e.requestedBytes()).isEqualTo(1L << 50);
              assertThat(e.totalBytes()).isPositive();
              assertThat(e.freeBytes()).isBetween(1L, e.totalBytes());
            })
        .hasMessageContaining(String.valueOf(1L << 50))
        .hasMessageContaining("so much is not free")
        .hasMessageContaining("bytes are free");
    assertThatThrownBy(() -> allocator.allocate(Long.MAX_VALUE))
        .isInstanceOf(OutOfDeviceMemoryException.class);
    assertThatThrownBy(() -> new MemoryAllocator(false).allocate(Long.MAX_VALUE))
        .isInstanceOf(OutOfDeviceMemoryException.class);
  }

  @Test
  void wrongArgumentsAreNamed() {
    AllocatorStatistics before = allocator.statistics();
    assertThatIllegalArgumentException()
        .isThrownBy(() -> allocator.allocate(-1))
        .withMessageContaining("-1 bytes");
    for (long alignment : new long[] {0, -8, 24, 1L << 31, Long.MIN_VALUE}) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> allocator.allocate(8, alignment))
          .withMessageContaining(String.valueOf(alignment));
    }
    assertThat(allocator.statistics()).isEqualTo(before);
    assertThatIllegalArgumentException().isThrownBy(() -> new PinnedBudget(-1));
  }

  static void writePattern(MemorySegment segment, long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    for (long i = 0; i < segment.byteSize(); i++) {
      segment.set(JAVA_BYTE, i, (byte) random.nextInt());
    }
  }

  static void assertPattern(MemorySegment segment, long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    for (long i = 0; i < segment.byteSize(); i++) {
      if (segment.get(JAVA_BYTE, i) != (byte) random.nextInt()) {
        throw new AssertionError("byte " + i + " of " + segment.byteSize() + " changed");
      }
    }
  }
}

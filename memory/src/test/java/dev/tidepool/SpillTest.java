package dev.tidepool;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.diagnostics.DiagnosticsLevel;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Buffers beyond the limit of a manager on the CPU live in a file, and nobody notices. */
final class SpillTest {
  private static final int MIB = 1 << 20;
  private static final int INTS = MIB / 4;

  @TempDir Path directory;

  private MemoryOptions.Builder limited(long bytes) {
    return MemoryOptions.builder().memoryLimit(bytes).spillDirectory(directory);
  }

  private static int[] pattern(int seed) {
    return IntStream.range(0, INTS).map(i -> i * 31 + seed * 1_000_003).toArray();
  }

  private static List<UnifiedBuffer<int[]>> filled(UnifiedMemoryManager memory, int count) {
    List<UnifiedBuffer<int[]>> buffers = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      UnifiedBuffer<int[]> buffer = memory.allocate(ElementType.INT, INTS);
      buffer.copyFrom(pattern(i));
      buffers.add(buffer);
    }
    return buffers;
  }

  private static int[] contents(UnifiedBuffer<int[]> buffer) {
    int[] array = new int[INTS];
    buffer.copyTo(array);
    return array;
  }

  @Test
  void aWorkingSetOfThreeTimesTheLimitKeepsEveryByte() {
    try (UnifiedMemoryManager memory = UnifiedMemoryManager.create(limited(8 * MIB).build())) {
      List<UnifiedBuffer<int[]>> buffers = filled(memory, 24);
      assertThat(memory.statistics().spilledBytes()).isEqualTo(16L * MIB);
      assertThat(memory.statistics().reservedBytes()).isEqualTo(8L * MIB);
      assertThat(memory.statistics().totalAllocated()).isEqualTo(24L * MIB);
      assertThat(memory.buffers()).hasSize(24);
      Kernel increment = memory.compile(KernelSource.elementwise("y = y + 1"));
      for (int round = 0; round < 2; round++) {
        buffers.forEach(buffer -> increment.execute(Arguments.of("y", buffer)));
      }
      for (int i = 0; i < 24; i++) {
        int[] expected = pattern(i);
        add(expected, 2);
        assertThat(contents(buffers.get(i))).as("buffer %s", i).isEqualTo(expected);
      }
      buffers.forEach(UnifiedBuffer::close);
      assertThat(memory.statistics().spilledBytes()).isZero();
      assertThat(memory.statistics().spills()).isGreaterThanOrEqualTo(64);
      assertThat(memory.statistics().unspills()).isLessThanOrEqualTo(memory.statistics().spills());
    }
  }

  private static void add(int[] array, int value) {
    for (int i = 0; i < array.length; i++) {
      array[i] += value;
    }
  }

  @Test
  void theLeastRecentlyUsedGoesFirstAndOnlyAsManyAsNeeded() {
    try (UnifiedMemoryManager memory = UnifiedMemoryManager.create(limited(4 * MIB).build())) {
      List<UnifiedBuffer<int[]>> buffers = filled(memory, 4);
      contents(buffers.get(0));
      buffers.addAll(filled(memory, 1));
      assertThat(memory.statistics().spills()).isEqualTo(1);
      contents(buffers.get(0));
      contents(buffers.get(2));
      contents(buffers.get(3));
      assertThat(memory.statistics().unspills()).as("only the second was spilled").isZero();
      contents(buffers.get(1));
      assertThat(memory.statistics().unspills()).isEqualTo(1);
      buffers.forEach(UnifiedBuffer::close);
    }
  }

  @ParameterizedTest
  @EnumSource(MemoryLocation.class)
  void theStateIsWhatItWasAndEveryAccessBringsTheBytesBack(MemoryLocation location) {
    try (UnifiedMemoryManager memory = UnifiedMemoryManager.create(limited(2 * MIB).build())) {
      for (int way = 0; way < 9; way++) {
        UnifiedBuffer<int[]> buffer = memory.allocate(ElementType.INT, INTS, location);
        buffer.copyFrom(pattern(way));
        BufferState before = buffer.state();
        long spills = memory.statistics().spills();
        memory.allocate(ElementType.BYTE, 2 * MIB).close();
        memory.trimExcess();
        assertThat(memory.statistics().spills()).isEqualTo(spills + 1);
        assertThat(memory.statistics().reservedBytes()).isZero();
        assertThat(buffer.state()).isEqualTo(before);
        assertThat(seenBy(way, memory, buffer)).as("way %s", way).isEqualTo(expected(way));
        buffer.close();
      }
      assertThat(memory.statistics().spilledBytes()).isZero();
    }
  }

  private static int[] expected(int way) {
    int[] expected = pattern(way);
    if (way == 4) {
      add(expected, 1);
    } else if (way == 5) {
      expected[7] = 42;
    } else if (way == 6) {
      expected = pattern(100);
    } else if (way == 7) {
      expected = IntStream.range(0, INTS).map(_ -> 0x05050505).toArray();
    }
    return expected;
  }

  private static int[] seenBy(int way, UnifiedMemoryManager memory, UnifiedBuffer<int[]> buffer) {
    switch (way) {
      case 0 -> {
        return contents(buffer);
      }
      case 1 -> {
        return buffer.asSegment().toArray(ValueLayout.JAVA_INT);
      }
      case 2 -> {
        return buffer.asReadOnlySegment().toArray(ValueLayout.JAVA_INT);
      }
      case 3 -> {
        try (HostMapping mapping = buffer.map(MapMode.READ)) {
          return mapping.segment().toArray(ValueLayout.JAVA_INT);
        }
      }
      case 4 ->
          memory.compile(KernelSource.elementwise("y = y + 1")).execute(Arguments.of("y", buffer));
      case 5 -> buffer.copyFrom(new int[] {42}, 0, 7, 1);
      case 6 -> buffer.copyFrom(pattern(100));
      case 7 -> buffer.fill((byte) 5);
      default -> {
        try (UnifiedBuffer<int[]> other = memory.allocate(ElementType.INT, INTS)) {
          other.copyFrom(buffer);
          return contents(other);
        }
      }
    }
    return contents(buffer);
  }

  @Test
  void whatTheHostHoldsByItsAddressStays() {
    try (UnifiedMemoryManager memory = UnifiedMemoryManager.create(limited(4 * MIB).build())) {
      List<UnifiedBuffer<int[]>> buffers = filled(memory, 3);
      MemorySegment exposed = buffers.get(0).asSegment();
      try (HostMapping mapping = buffers.get(1).map(MapMode.READ_WRITE)) {
        buffers.addAll(filled(memory, 4));
        assertThat(memory.statistics().spills()).isEqualTo(3);
        mapping.segment().setAtIndex(ValueLayout.JAVA_INT, 0, 17);
        exposed.setAtIndex(ValueLayout.JAVA_INT, 0, 18);
        assertThatThrownBy(() -> memory.allocate(ElementType.BYTE, 3 * MIB))
            .isInstanceOf(OutOfDeviceMemoryException.class)
            .hasMessageContaining("spilled 2 idle buffers");
      }
      assertThat(contents(buffers.get(0))[0]).isEqualTo(18);
      assertThat(contents(buffers.get(1))[0]).isEqualTo(17);
      assertThat(contents(buffers.get(2))).isEqualTo(pattern(2));
      buffers.forEach(UnifiedBuffer::close);
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void manyThreadsThatShareBuffersBeyondTheLimitLoseNothing(boolean virtual) throws Exception {
    int count = 24;
    int threads = 4;
    try (UnifiedMemoryManager memory = UnifiedMemoryManager.create(limited(8 * MIB).build());
        ExecutorService pool =
            virtual
                ? Executors.newVirtualThreadPerTaskExecutor()
                : Executors.newFixedThreadPool(threads)) {
      List<UnifiedBuffer<int[]>> buffers = filled(memory, count);
      Kernel increment = memory.compile(KernelSource.elementwise("y = y + 1"));
      List<Future<?>> work = new ArrayList<>();
      for (int thread = 0; thread < threads; thread++) {
        int first = thread * 7;
        work.add(
            pool.submit(
                () -> {
                  for (int i = 0; i < count; i++) {
                    UnifiedBuffer<int[]> buffer = buffers.get((first + i) % count);
                    increment.execute(Arguments.of("y", buffer));
                    assertThat(contents(buffer)).hasSize(INTS);
                  }
                }));
      }
      for (Future<?> each : work) {
        each.get();
      }
      for (int i = 0; i < count; i++) {
        int[] expected = pattern(i);
        add(expected, threads);
        assertThat(contents(buffers.get(i))).as("buffer %s", i).isEqualTo(expected);
      }
      assertThat(memory.statistics().reservedBytes()).isLessThanOrEqualTo(8L * MIB);
      buffers.forEach(UnifiedBuffer::close);
    }
  }

  @Test
  void manySmallBuffersMakeRoomForALargeOne() {
    int count = 3000;
    try (UnifiedMemoryManager memory = UnifiedMemoryManager.create(limited(4 * MIB).build())) {
      List<UnifiedBuffer<int[]>> small = new ArrayList<>();
      for (int i = 0; i < count; i++) {
        small.add(memory.copyOf(new int[] {i, i + 1, i + 2}));
        small.add(memory.copyOf(new int[250 + i % 7]));
      }
      try (UnifiedBuffer<byte[]> large = memory.allocate(ElementType.BYTE, 3 * MIB)) {
        large.fill((byte) 1);
        assertThat(memory.statistics().spills()).isPositive();
      }
      for (int i = 0; i < count; i++) {
        int[] seen = new int[3];
        small.get(2 * i).copyTo(seen);
        assertThat(seen).containsExactly(i, i + 1, i + 2);
      }
      small.forEach(UnifiedBuffer::close);
      assertThat(memory.statistics().spilledBytes()).isZero();
    }
  }

  @Test
  void whatAKernelIsUsingStaysUnderIt() throws Exception {
    CountDownLatch running = new CountDownLatch(1);
    CountDownLatch mayEnd = new CountDownLatch(1);
    KernelSource slow =
        KernelSource.java(
            item -> {
              item.array(0).set(ValueLayout.JAVA_INT, 0, 1);
              running.countDown();
              awaitQuietly(mayEnd);
              item.array(0).set(ValueLayout.JAVA_INT, 4, 2);
            },
            KernelParameter.inout("y", ElementType.INT));
    try (UnifiedMemoryManager memory = UnifiedMemoryManager.create(limited(4 * MIB).build())) {
      UnifiedBuffer<int[]> used = filled(memory, 1).getFirst();
      var end = memory.compile(slow).executeAsync(Arguments.of("y", used), LaunchRange.of(1));
      running.await();
      // The oldest, but in use: all that is allocated meanwhile goes round it.
      List<UnifiedBuffer<int[]>> others = filled(memory, 9);
      assertThat(memory.statistics().spills()).isEqualTo(6);
      mayEnd.countDown();
      end.get();
      int[] expected = pattern(0);
      expected[0] = 1;
      expected[1] = 2;
      assertThat(contents(used)).isEqualTo(expected);
      for (int i = 0; i < 9; i++) {
        assertThat(contents(others.get(i))).isEqualTo(pattern(i));
      }
      used.close();
      others.forEach(UnifiedBuffer::close);
    }
  }

  @Test
  void whatAKernelIsUsingStaysAlsoWhereOthersWaitBehindIt() throws Exception {
    CountDownLatch running = new CountDownLatch(1);
    CountDownLatch mayEnd = new CountDownLatch(1);
    KernelSource slow =
        KernelSource.java(
            item -> {
              running.countDown();
              awaitQuietly(mayEnd);
              item.array(0).set(ValueLayout.JAVA_INT, 4, 2);
            },
            KernelParameter.inout("y", ElementType.INT));
    try (UnifiedMemoryManager memory = UnifiedMemoryManager.create(limited(4 * MIB).build())) {
      Kernel increment = memory.compile(KernelSource.elementwise("y = y + 1"));
      List<UnifiedBuffer<int[]>> buffers = filled(memory, 4);
      Arguments used = Arguments.of("y", buffers.get(0));
      Arguments next = Arguments.of("y", buffers.get(1));
      List<Future<Void>> ends = new ArrayList<>();
      ends.add(memory.compile(slow).executeAsync(used, LaunchRange.of(1)));
      ends.add(memory.compile(slow).executeAsync(next, LaunchRange.of(1)));
      running.await();
      for (int i = 0; i < 4; i++) {
        ends.add(increment.executeAsync(Arguments.of("y", buffers.get(i))));
      }
      try (UnifiedBuffer<byte[]> more = memory.allocate(ElementType.BYTE, 2 * MIB)) {
        more.fill((byte) 1);
        assertThat(memory.statistics().reservedBytes()).isLessThanOrEqualTo(4L * MIB);
      }
      mayEnd.countDown();
      for (Future<Void> end : ends) {
        end.get();
      }
      for (int i = 0; i < 4; i++) {
        int[] expected = pattern(i);
        expected[1] = i < 2 ? 2 : expected[1];
        add(expected, 1);
        assertThat(contents(buffers.get(i))).as("buffer %s", i).isEqualTo(expected);
      }
      buffers.forEach(UnifiedBuffer::close);
    }
  }

  @Test
  void kernelsInTheBackgroundOverThreeTimesTheLimitAllRun() throws Exception {
    int rounds = 4;
    try (UnifiedMemoryManager memory = UnifiedMemoryManager.create(limited(8 * MIB).build())) {
      Kernel add = memory.compile(KernelSource.elementwise("y = y + x"));
      List<UnifiedBuffer<int[]>> buffers = filled(memory, 24);
      List<int[]> model =
          new ArrayList<>(IntStream.range(0, 24).mapToObj(SpillTest::pattern).toList());
      List<Future<Void>> ends = new ArrayList<>();
      for (int i = 0; i < 24 * rounds; i++) {
        int y = i % 24;
        int x = (i + 7) % 24;
        ends.add(add.executeAsync(Arguments.of("y", buffers.get(y), "x", buffers.get(x))));
        int[] sum = model.get(y);
        for (int k = 0; k < INTS; k++) {
          sum[k] += model.get(x)[k];
        }
      }
      for (Future<Void> end : ends) {
        end.get();
      }
      for (int i = 0; i < 24; i++) {
        assertThat(contents(buffers.get(i))).as("buffer %s", i).isEqualTo(model.get(i));
      }
      buffers.forEach(UnifiedBuffer::close);
    }
  }

  @Test
  void copiesInTheBackgroundOverThreeTimesTheLimitAllArrive() throws Exception {
    try (UnifiedMemoryManager memory = UnifiedMemoryManager.create(limited(4 * MIB).build())) {
      List<UnifiedBuffer<int[]>> buffers = filled(memory, 12);
      int[] model = IntStream.range(0, 12).toArray();
      List<Future<Void>> ends = new ArrayList<>();
      for (int i = 0; i < 120; i++) {
        int to = i * 5 % 12;
        int from = (i * 7 + 3) % 12;
        if (from != to) {
          ends.add(buffers.get(to).copyFromAsync(buffers.get(from)));
          model[to] = model[from];
        }
      }
      for (Future<Void> end : ends) {
        end.get();
      }
      for (int i = 0; i < 12; i++) {
        assertThat(contents(buffers.get(i))).as("buffer %s", i).isEqualTo(pattern(model[i]));
      }
      buffers.forEach(UnifiedBuffer::close);
    }
  }

  private static void awaitQuietly(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  @Test
  void aReaderThatIsInterruptedGetsItsBytesAndSpoilsNobodys() {
    try (UnifiedMemoryManager memory = UnifiedMemoryManager.create(limited(2 * MIB).build())) {
      List<UnifiedBuffer<int[]>> buffers = filled(memory, 6);
      Thread.currentThread().interrupt();
      for (int i = 0; i < 6; i++) {
        assertThat(contents(buffers.get(i))).isEqualTo(pattern(i));
      }
      assertThat(Thread.interrupted()).isTrue();
      buffers.forEach(UnifiedBuffer::close);
    }
  }

  @ParameterizedTest
  @EnumSource(DiagnosticsLevel.class)
  void spillingGoesWithEveryLevelOfDiagnosticsAndWithoutAPool(DiagnosticsLevel level) {
    MemoryOptions options =
        limited(2 * MIB).diagnostics(level).pooling(false).zeroOnRelease(true).build();
    try (UnifiedMemoryManager memory = UnifiedMemoryManager.create(options)) {
      List<UnifiedBuffer<int[]>> buffers = filled(memory, 6);
      for (int i = 0; i < 6; i++) {
        assertThat(contents(buffers.get(i))).isEqualTo(pattern(i));
      }
      buffers.forEach(UnifiedBuffer::close);
    }
  }

  @Test
  void aSpilledBufferThatIsForgottenIsReclaimed() throws Exception {
    try (UnifiedMemoryManager memory =
        UnifiedMemoryManager.create(limited(2 * MIB).diagnostics(DiagnosticsLevel.SITES).build())) {
      filled(memory, 6);
      for (int i = 0; i < 200 && memory.statistics().activeBuffers() > 0; i++) {
        System.gc();
        Thread.sleep(50);
      }
      assertThat(memory.statistics().activeBuffers()).isZero();
      assertThat(memory.statistics().spilledBytes()).isZero();
    }
  }

  @Test
  void theArgumentsOfAKernelThatAreTogetherBeyondTheLimitAreRefusedAsSuch() {
    try (UnifiedMemoryManager memory = UnifiedMemoryManager.create(limited(2 * MIB).build())) {
      List<UnifiedBuffer<int[]>> buffers = filled(memory, 3);
      Kernel add = memory.compile(KernelSource.elementwise("z = x + y"));
      Arguments arguments =
          Arguments.of("x", buffers.get(0), "y", buffers.get(1), "z", buffers.get(2));
      assertThatThrownBy(() -> add.execute(arguments))
          .isInstanceOf(OutOfDeviceMemoryException.class)
          .hasMessageStartingWith("the memory-limit of 2 MiB is reached, no room for 1 MiB")
          .hasMessageContaining("such as the arguments of a kernel, must fit together")
          .message()
          .doesNotContain("nothing could be given back");
      buffers.forEach(UnifiedBuffer::close);
    }
  }

  @Test
  void nothingIsSpilledWithoutADirectoryNorWithoutNeed() {
    try (UnifiedMemoryManager without =
            UnifiedMemoryManager.create(MemoryOptions.builder().memoryLimit(2 * MIB).build());
        UnifiedMemoryManager ample =
            UnifiedMemoryManager.create(
                MemoryOptions.builder().spillDirectory(directory).build())) {
      List<UnifiedBuffer<int[]>> buffers = filled(without, 2);
      assertThatThrownBy(() -> filled(without, 1))
          .isInstanceOf(OutOfDeviceMemoryException.class)
          .hasMessageContaining("name a spill-directory");
      buffers.addAll(filled(ample, 4));
      assertThat(ample.statistics().spills()).isZero();
      buffers.forEach(UnifiedBuffer::close);
    }
  }

  @Test
  void theDirectoryIsEmptyAgainWhenTheManagerIsClosed() throws IOException {
    UnifiedMemoryManager memory = UnifiedMemoryManager.create(limited(2 * MIB).build());
    filled(memory, 6);
    memory.close();
    try (var files = Files.list(directory)) {
      assertThat(files).isEmpty();
    }
  }
}

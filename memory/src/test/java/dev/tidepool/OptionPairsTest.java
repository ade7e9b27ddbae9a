package dev.tidepool;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.tidepool.diagnostics.DiagnosticsLevel;
import dev.tidepool.pooling.EvictionPolicy;
import dev.tidepool.pooling.PoolStatistics;
import dev.tidepool.pooling.SizeClassStatistics;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.function.BiConsumer;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.awaitility.core.ConditionFactory;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * What each option promises of memory holds beside each other option too: two that were tested
 * alone have made a pool grow without bound together.
 */
final class OptionPairsTest {
  private static final int MIB = 1 << 20;
  private static final int STEPS = 40;
  private static final int MOST_HELD = 6;

  @TempDir private static Path folder;

  /** An option, or what is done after each step, and what must hold then. */
  private record Choice(String name, BiConsumer<MemoryOptions.Builder, Path> set, Promise promise) {
    @Override
    public String toString() {
      return name;
    }
  }

  private interface Promise {
    void check(UnifiedMemoryManager memory);
  }

  private static final Promise NOTHING = _ -> {};

  private static Choice choice(String name, BiConsumer<MemoryOptions.Builder, Path> set) {
    return new Choice(name, set, NOTHING);
  }

  private static final List<Choice> CHOICES =
      List.of(
          new Choice(
              "no pooling",
              (options, _) -> options.pooling(false),
              memory -> assertThat(memory.statistics().totalPooled()).isZero()),
          new Choice(
              "a small pool",
              (options, _) -> options.maxPoolBytes(2 * MIB),
              memory ->
                  assertThat(memory.pools())
                      .allSatisfy(
                          pool -> assertThat(keptBytes(pool)).isLessThanOrEqualTo(2 * MIB))),
          new Choice(
              "small classes",
              (options, _) -> options.maxPoolBytesPerClass(MIB),
              memory ->
                  assertThat(memory.pools())
                      .flatMap(PoolStatistics::sizeClasses)
                      .allSatisfy(size -> assertThat(size.idleBytes()).isLessThanOrEqualTo(MIB))),
          new Choice(
              "a limit",
              (options, _) -> options.memoryLimit(16 * MIB),
              memory ->
                  assertThat(memory.statistics().reservedBytes()).isLessThanOrEqualTo(16 * MIB)),
          new Choice(
              "nothing pinned",
              (options, _) -> options.pinnedLimit(0),
              memory -> assertThat(memory.statistics().pinnedBytes()).isZero()),
          new Choice(
              "nothing page-locked",
              (options, _) -> options.pinnedMemory(false),
              memory -> assertThat(memory.statistics().pinnedBytes()).isZero()),
          new Choice(
              "a small pool of pinned memory",
              (options, _) -> options.pinnedPoolBytes(MIB),
              memory ->
                  assertThat(memory.pools())
                      .filteredOn(pool -> pool.name().endsWith("PINNED"))
                      .isNotEmpty()
                      .allSatisfy(pool -> assertThat(keptBytes(pool)).isLessThanOrEqualTo(MIB))),
          new Choice(
              "nothing kept and trimmed",
              (options, _) -> options.keptPoolBytes(0),
              OptionPairsTest::assertTrimmed),
          new Choice("moved together", (_, _) -> {}, OptionPairsTest::assertReturned),
          choice(
              "first in, first out", (options, _) -> options.evictionPolicy(EvictionPolicy.FIFO)),
          choice(
              "time to live", (options, _) -> options.evictionPolicy(EvictionPolicy.TIME_TO_LIVE)),
          choice("kept under pressure", (options, _) -> options.trimOnPressure(false)),
          choice("no managed memory", (options, _) -> options.managedMemory(false)),
          choice("no zero-copy buffers", (options, _) -> options.zeroCopyBuffers(false)),
          choice("cleared", (options, _) -> options.zeroOnRelease(true)),
          choice("diagnostics off", (options, _) -> options.diagnostics(DiagnosticsLevel.OFF)),
          choice(
              "every site",
              (options, _) -> options.diagnostics(DiagnosticsLevel.SITES).siteSampling(1)),
          choice("paranoid", (options, _) -> options.diagnostics(DiagnosticsLevel.PARANOID)),
          choice("history", (options, _) -> options.history(50)),
          choice("traced", (options, path) -> options.trace(path.resolve("trace"))),
          choice("spilling", (options, path) -> options.spillDirectory(path)));

  private static void assertTrimmed(UnifiedMemoryManager memory) {
    // Maintenance may have blocks in its hands just then.
    awaiting()
        .untilAsserted(
            () -> {
              memory.trimExcess();
              assertThat(memory.pools()).allSatisfy(pool -> assertThat(keptBytes(pool)).isZero());
            });
  }

  private static ConditionFactory awaiting() {
    return await().pollDelay(Duration.ZERO).atMost(Duration.ofSeconds(60));
  }

  /** Nothing is allocated meanwhile, so what is said to go back is missing afterwards. */
  private static void assertReturned(UnifiedMemoryManager memory) {
    long before = memory.statistics().reservedBytes();
    long returned = memory.defragment().returnedBytes();
    assertThat(memory.statistics().reservedBytes()).isBetween(0L, before - returned);
  }

  /** Idle bytes but for parts of larger blocks, which stay while others beside them are in use. */
  private static long keptBytes(PoolStatistics pool) {
    return pool.sizeClasses().stream()
        .filter(size -> size.blockBytes() >= 64 << 10)
        .mapToLong(SizeClassStatistics::idleBytes)
        .sum();
  }

  static Stream<Arguments> pairs() {
    return IntStream.range(0, CHOICES.size())
        .boxed()
        .flatMap(
            one ->
                IntStream.range(one + 1, CHOICES.size())
                    .filter(_ -> CHOICES.get(one).promise() != NOTHING)
                    .mapToObj(other -> Arguments.of(CHOICES.get(one), CHOICES.get(other))));
  }

  @ParameterizedTest(name = "{0} and {1}")
  @MethodSource("pairs")
  void bothKeepTheirPromises(Choice one, Choice other) throws IOException {
    MemoryOptions.Builder options = MemoryOptions.builder();
    Path path = Files.createTempDirectory(folder, "pair");
    one.set().accept(options, path);
    other.set().accept(options, path);
    SplittableRandom random = new SplittableRandom(one.name().hashCode() * 31L + 7);
    List<Held> held = new ArrayList<>();
    try (UnifiedMemoryManager memory = UnifiedMemoryManager.create(options.build())) {
      for (int step = 0; step < STEPS; step++) {
        if (held.size() == MOST_HELD || (!held.isEmpty() && random.nextInt(3) == 0)) {
          held.remove(random.nextInt(held.size())).checkAndClose();
        } else {
          held.add(written(memory, random));
        }
        one.promise().check(memory);
        other.promise().check(memory);
        assertThat(memory.statistics())
            .returns((long) held.size(), MemoryStatistics::activeBuffers)
            .returns(
                held.stream().mapToLong(each -> each.buffer().byteSize()).sum(),
                MemoryStatistics::totalAllocated);
      }
      held.forEach(Held::checkAndClose);
      // Maintenance may have blocks in its hands just then.
      awaiting().untilAsserted(() -> assertEmpty(memory));
    }
  }

  private static void assertEmpty(UnifiedMemoryManager memory) {
    memory.trimExcess();
    assertThat(memory.statistics())
        .returns(0L, MemoryStatistics::totalAllocated)
        .returns(0L, MemoryStatistics::totalPooled)
        .returns(0L, MemoryStatistics::reservedBytes)
        .returns(0L, MemoryStatistics::leaks);
  }

  private static Held written(UnifiedMemoryManager memory, SplittableRandom random) {
    MemoryLocation[] locations = MemoryLocation.values();
    UnifiedBuffer<byte[]> buffer =
        memory.allocate(
            ElementType.BYTE,
            random.nextInt(1, random.nextBoolean() ? 20_000 : MIB),
            locations[random.nextInt(locations.length)]);
    byte mark = (byte) random.nextInt();
    buffer.fill(mark);
    return new Held(buffer, mark);
  }

  /** A buffer and the byte that it is full of, so that two in one block would be seen. */
  private record Held(UnifiedBuffer<byte[]> buffer, byte mark) {
    void checkAndClose() {
      byte[] expected = new byte[(int) buffer.length()];
      Arrays.fill(expected, mark);
      byte[] seen = new byte[expected.length];
      buffer.copyTo(seen);
      assertThat(Arrays.mismatch(seen, expected)).isEqualTo(-1);
      buffer.close();
    }
  }
}

package dev.tidepool;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.tidepool.diagnostics.DiagnosticsLevel;
import dev.tidepool.pooling.EvictionPolicy;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.BiFunction;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Every option has an effect; properties and environment override what programs set. */
final class MemoryOptionsTest {
  private static final int MIB = 1 << 20;

  private static UnifiedMemoryManager with(MemoryOptions.Builder options) {
    return UnifiedMemoryManager.create(options.build());
  }

  private static void allocateAndClose(UnifiedMemoryManager memory, int count, long bytes) {
    UnifiedBuffer<?>[] buffers = new UnifiedBuffer<?>[count];
    for (int i = 0; i < count; i++) {
      buffers[i] = memory.allocate(ElementType.BYTE, bytes);
    }
    for (UnifiedBuffer<?> buffer : buffers) {
      buffer.close();
    }
  }

  @ParameterizedTest
  @CsvSource({"LRU, 6.25", "FIFO, 5.25"})
  void theEvictionPolicyNamesWhatGoesWhenThePoolIsFull(EvictionPolicy policy, double left) {
    try (UnifiedMemoryManager memory =
        with(MemoryOptions.builder().maxPoolBytes(7 * MIB).evictionPolicy(policy))) {
      UnifiedBuffer<byte[]> first = memory.allocate(ElementType.BYTE, MIB);
      memory.allocate(ElementType.BYTE, 2 * MIB).close();
      first.close();
      memory.allocate(ElementType.BYTE, 3 * MIB).close();
      memory.allocate(ElementType.BYTE, 9 * MIB / 4).close();
      assertThat(memory.statistics().totalPooled()).isEqualTo((long) (left * MIB));
    }
  }

  @Test
  void poolingKeepsBlocksAndWithoutItNothingIsKept() {
    try (UnifiedMemoryManager on = with(MemoryOptions.builder());
        UnifiedMemoryManager off = with(MemoryOptions.builder().pooling(false))) {
      for (int i = 0; i < 10; i++) {
        allocateAndClose(on, 1, MIB);
        allocateAndClose(off, 1, MIB);
      }
      assertThat(on.statistics().poolHits()).isEqualTo(9);
      assertThat(on.statistics().totalPooled()).isEqualTo(MIB);
      assertThat(off.statistics().poolHits()).isZero();
      assertThat(off.statistics().totalPooled()).isZero();
      assertThat(off.statistics().driverAllocations()).isEqualTo(10);
    }
  }

  @Test
  void whatIsHeldOfTheSystemIsLiveAndIdleBytesRoundedUpAndItsPeakIsKept() {
    try (UnifiedMemoryManager memory = with(MemoryOptions.builder())) {
      allocateAndClose(memory, 3, MIB);
      allocateAndClose(memory, 1, 2 * MIB - 1);
      assertThat(memory.statistics().reservedBytes()).isEqualTo(5L * MIB);
      memory.trimExcess();
      assertThat(memory.statistics().reservedBytes()).isZero();
      assertThat(memory.statistics().peakReserved()).isEqualTo(5L * MIB);
    }
  }

  @Test
  void thePoolNeverHoldsMoreThanItsCap() {
    try (UnifiedMemoryManager memory = with(MemoryOptions.builder().maxPoolBytes(3 * MIB))) {
      allocateAndClose(memory, 8, MIB);
      assertThat(memory.statistics().totalPooled()).isBetween(1L, 3L * MIB);
    }
  }

  @Test
  void aSizeClassNeverHoldsMoreThanItsCap() {
    try (UnifiedMemoryManager memory =
        with(MemoryOptions.builder().maxPoolBytesPerClass(2 * MIB))) {
      allocateAndClose(memory, 8, MIB);
      assertThat(memory.statistics().totalPooled()).isBetween(1L, 2L * MIB);
    }
  }

  @Test
  void idleBlocksAreTrimmedByTimeDownToWhatIsKept() {
    MemoryOptions.Builder options =
        MemoryOptions.builder().trimInterval(Duration.ofMillis(300)).keptPoolBytes(2 * MIB);
    try (UnifiedMemoryManager memory = with(options)) {
      allocateAndClose(memory, 8, MIB);
      await()
          .atMost(Duration.ofSeconds(20))
          .until(() -> memory.statistics().totalPooled() == 2 * MIB);
    }
  }

  @Test
  void pinnedMemoryStopsAtItsLimitAndBecomesPlainMemoryThatIsCounted() {
    MemoryOptions.Builder options = MemoryOptions.builder().pinnedLimit(0);
    try (UnifiedMemoryManager memory = with(options);
        UnifiedBuffer<byte[]> buffer =
            memory.allocate(ElementType.BYTE, MIB, MemoryLocation.PINNED)) {
      assertThat(buffer.location()).isEqualTo(MemoryLocation.PINNED);
      assertThat(memory.statistics().pinnedBytes()).isZero();
      assertThat(memory.statistics().pinnedFallbacks()).isEqualTo(1);
      buffer.fill((byte) 3);
      byte[] seen = new byte[MIB];
      buffer.copyTo(seen);
      assertThat(seen).containsOnly(3);
    }
  }

  @Test
  void aPinnedAllocationThatFailsAltogetherHasNotBecomePlainMemory() {
    try (UnifiedMemoryManager memory = with(MemoryOptions.builder().pinnedLimit(0))) {
      for (int i = 0; i < 3; i++) {
        assertThatThrownBy(() -> memory.allocate(ElementType.BYTE, 1L << 60, MemoryLocation.PINNED))
            .isInstanceOf(OutOfDeviceMemoryException.class);
      }
      assertThat(memory.statistics().pinnedFallbacks()).isZero();
      for (int i = 1; i <= 3; i++) {
        try (UnifiedBuffer<byte[]> _ =
            memory.allocate(ElementType.BYTE, i * MIB, MemoryLocation.PINNED)) {
          assertThat(memory.statistics().pinnedFallbacks()).isEqualTo(i);
        }
      }
    }
  }

  @Test
  void zeroOnReleaseHandsNobodyAnothersBytes() {
    try (UnifiedMemoryManager memory = with(MemoryOptions.builder().zeroOnRelease(true))) {
      for (int i = 0; i < 2; i++) {
        try (UnifiedBuffer<byte[]> buffer = memory.allocate(ElementType.BYTE, MIB)) {
          MemorySegment bytes = buffer.asSegment();
          assertThat(i == 0 || bytes.get(ValueLayout.JAVA_BYTE, MIB / 2) == 0).isTrue();
          bytes.fill((byte) 42);
        }
      }
      assertThat(memory.statistics().poolHits()).isEqualTo(1);
    }
  }

  @ParameterizedTest
  @CsvSource({
    "tidepool.pooling, off, pooling",
    "tidepool.staging-chunk, 64k, stagingChunk",
    "tidepool.diagnostics, sites, diagnostics",
    "tidepool.trace, /tmp/a.trace, trace",
    "tidepool.site-sampling, 1m, siteSampling",
    "tidepool.peer-access, off, peerAccess",
  })
  void aPropertyOverridesWhatTheProgramSet(String property, String text, String option) {
    String before = System.setProperty(property, text) == null ? null : property;
    try {
      MemoryOptions options =
          MemoryOptions.builder()
              .pooling(true)
              .stagingChunk(MIB)
              .diagnostics(DiagnosticsLevel.COUNTERS)
              .trace(Path.of("b.trace"))
              .build();
      Map<String, Object> seen =
          Map.of(
              "pooling", options.pooling(),
              "stagingChunk", options.stagingChunk(),
              "diagnostics", options.diagnostics(),
              "trace", options.trace(),
              "siteSampling", options.siteSampling(),
              "peerAccess", options.peerAccess());
      Map<String, Object> expected =
          Map.of(
              "pooling",
              false,
              "stagingChunk",
              64L << 10,
              "diagnostics",
              DiagnosticsLevel.SITES,
              "trace",
              Optional.of(Path.of("/tmp/a.trace")),
              "siteSampling",
              1L << 20,
              "peerAccess",
              false);
      assertThat(seen.get(option)).isEqualTo(expected.get(option));
      assertThat(before).as("the property was not set before").isNull();
    } finally {
      System.clearProperty(property);
    }
  }

  @Test
  void theEnvironmentOverridesWhereNoPropertyIsSet() {
    Map<String, String> environment = Map.of("TIDEPOOL_CONCURRENT_TRANSFERS", "7");
    assertThat(new MemoryOptions.Builder(environment::get).build().concurrentTransfers())
        .isEqualTo(7);
  }

  @Test
  void aTextThatIsNoNumberOrTooLargeAOneIsToldTheRule() {
    Map.of(
            "watermarks", "0.5,nan",
            "concurrent-transfers", "x",
            "history", "9999999999")
        .forEach(
            (key, text) ->
                assertThatThrownBy(() -> MemoryOption.named(key).parse(text))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageStartingWith(key + " is " + text + "; it must be "));
  }

  @Test
  void aWrongOptionNamesItsKeyAndItsRule() {
    assertThatThrownBy(() -> MemoryOptions.builder().concurrentTransfers(0).build())
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("concurrent-transfers is 0");
    assertThatThrownBy(() -> MemoryOptions.builder().maxPoolBytes(10).keptPoolBytes(20).build())
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("kept-pool-bytes is 20");
    Map<String, String> environment = Map.of("TIDEPOOL_STAGING_CHUNK", "lots");
    assertThatThrownBy(() -> new MemoryOptions.Builder(environment::get).build())
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("TIDEPOOL_STAGING_CHUNK=lots");
  }

  @Test
  void aTimeThatCannotBeCountedInNanosecondsIsRefused() {
    Duration most = Duration.ofNanos(Long.MAX_VALUE);
    Map<String, BiFunction<MemoryOptions.Builder, Duration, MemoryOptions.Builder>> options =
        Map.of(
            "trim-interval", MemoryOptions.Builder::trimInterval,
            "defragment-interval", MemoryOptions.Builder::defragmentInterval,
            "transfer-retry-time", MemoryOptions.Builder::transferRetryTime);
    options.forEach(
        (key, option) -> {
          for (Duration wrong : List.of(most.plusNanos(1), Duration.ofNanos(-1))) {
            assertThatThrownBy(() -> option.apply(MemoryOptions.builder(), wrong).build())
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage(key + " is " + wrong + "; it must be from zero to 106751 days");
          }
          try (UnifiedMemoryManager memory = with(option.apply(MemoryOptions.builder(), most))) {
            allocateAndClose(memory, 1, MIB);
          }
        });
  }

  @ParameterizedTest
  @CsvSource({
    "4096, 4096",
    "64k, 65536",
    "1.5m, 1572864",
    "2GiB, 2147483648",
    "7 b, 7",
    "9223372036854775807, 9223372036854775807"
  })
  void bytesAreReadAsPeopleWriteThem(String text, long bytes) {
    assertThat(ByteSize.parse(text)).isEqualTo(bytes);
  }

  @ParameterizedTest
  @CsvSource({"4096, 4 KiB", "1023, 1023 bytes", "1572864, 1.5 MiB", "3221225472, 3 GiB"})
  void bytesAreWrittenAsPeopleReadThem(long bytes, String text) {
    assertThat(ByteSize.format(bytes)).isEqualTo(text);
  }

  @ParameterizedTest
  @ValueSource(strings = {"9223372036854775808", "8388608t"})
  void bytesThatALongCannotCountAreRefused(String text) {
    assertThatThrownBy(() -> ByteSize.parse(text))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("'" + text + "' exceeds 9223372036854775807 bytes");
  }
}

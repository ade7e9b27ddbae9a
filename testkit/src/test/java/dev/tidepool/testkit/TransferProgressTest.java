package dev.tidepool.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.ElementType;
import dev.tidepool.HostMapping;
import dev.tidepool.MapMode;
import dev.tidepool.MemoryOptions;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.testkit.conformance.Patterns;
import dev.tidepool.testkit.fault.Failure;
import dev.tidepool.transfer.Transfer;
import dev.tidepool.transfer.TransferOptions;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** A listener is told what was handed to the device, also where transfers are tried again. */
@ExtendWith(QuietLog.class)
@Timeout(60)
class TransferProgressTest {
  private static final int CHUNK = 16 << 10;
  private static final int BYTES = 8 * CHUNK;

  @RegisterExtension
  private final SimulatedRig rig =
      new SimulatedRig(MemoryOptions.builder().transferRetryTime(Duration.ofMinutes(5)));

  private final UnifiedMemoryManager memory = rig.memory();

  private long calls(SpiCall call) {
    return rig.calls(call);
  }

  private UnifiedBuffer<byte[]> buffer() {
    return memory.allocate(ElementType.BYTE, BYTES);
  }

  private static byte[] pattern() {
    return Patterns.array(ElementType.BYTE, BYTES, 1);
  }

  /** How many calls of a kind the driver had got when the listener heard of so many bytes. */
  private Map<Long, Long> heard(SpiCall call, TransferOptions.Builder options, Transfer<?> pair) {
    Map<Long, Long> heard = new LinkedHashMap<>();
    long before = calls(call);
    memory
        .transfers()
        .transfer(
            List.of(pair),
            options
                .chunkSize(CHUNK)
                .pipelining(false)
                .progress((bytes, _) -> heard.put(bytes, calls(call) - before))
                .build())
        .orThrow();
    return heard;
  }

  @Test
  void eachChunkIsToldBeforeTheDeviceGetsIt() {
    UnifiedBuffer<byte[]> one = buffer();
    UnifiedBuffer<byte[]> other = buffer();
    byte[] read = new byte[BYTES];
    Map<SpiCall, Transfer<?>> pairs = new LinkedHashMap<>();
    pairs.put(SpiCall.WRITE, Transfer.of(pattern(), one));
    pairs.put(SpiCall.COPY, Transfer.of(one, other));
    pairs.put(SpiCall.READ, Transfer.of(other, read));
    pairs.forEach(
        (call, pair) -> {
          Map<Long, Long> heard = heard(call, TransferOptions.builder(), pair);
          assertThat(heard).as(call.name()).hasSize(8);
          heard.forEach((bytes, calls) -> assertThat(calls).isEqualTo(bytes / CHUNK - 1));
        });
    Patterns.assertEqual(read, pattern(), "what came back");
  }

  @Test
  void aTransferThatIsTriedAgainIsToldFromWhereItWasToldBefore() {
    UnifiedBuffer<byte[]> target = buffer();
    rig.faults().fail(SpiCall.WRITE, 5, Failure.TRANSIENT);
    Map<Long, Long> heard =
        heard(SpiCall.WRITE, TransferOptions.builder(), Transfer.of(pattern(), target));
    assertThat(heard.keySet())
        .containsExactly(
            1L * CHUNK,
            2L * CHUNK,
            3L * CHUNK,
            4L * CHUNK,
            5L * CHUNK,
            6L * CHUNK,
            7L * CHUNK,
            8L * CHUNK);
    assertThat(heard)
        .containsEntry(5L * CHUNK, 4L)
        .as("five of the first attempt and five of the second, none reported twice")
        .containsEntry(6L * CHUNK, 10L)
        .containsEntry(8L * CHUNK, 12L);
    assertThat(rig.faults().fired()).contains(SpiCall.WRITE);
  }

  @Test
  void whatIsNotLetInIsNoPartOfTheTotal(@TempDir Path folder) throws IOException {
    Path file = Files.write(folder.resolve("read-only"), new byte[BYTES]);
    Map<Long, Long> heard = new LinkedHashMap<>();
    try (UnifiedBuffer<byte[]> readOnly = memory.map(file, ElementType.BYTE, MapMode.READ)) {
      memory
          .transfers()
          .transfer(
              List.of(Transfer.of(pattern(), readOnly), Transfer.of(pattern(), buffer())),
              TransferOptions.builder().progress(heard::put).build());
    }
    assertThat(heard).containsEntry((long) BYTES, (long) BYTES);
    assertThat(heard.values()).containsOnly((long) BYTES);
  }

  @Test
  void neverMoreThanAllIsToldHoweverOftenItIsTriedOrRead() {
    UnifiedBuffer<byte[]> target = buffer();
    rig.faults().fail(SpiCall.WRITE, 8, Failure.DAMAGED);
    Map<Long, Long> heard =
        heard(
            SpiCall.WRITE,
            TransferOptions.builder().verified(true),
            Transfer.of(pattern(), target));
    List<Long> bytes = new ArrayList<>(heard.keySet());
    assertThat(bytes).isSorted().hasSize(8).endsWith((long) BYTES);
    assertThat(calls(SpiCall.WRITE)).isEqualTo(16);
  }

  @Test
  void whatMustMoveFirstIsNotToldAsTheTransfersOwnBytes() {
    UnifiedBuffer<byte[]> target = buffer();
    target.copyFrom(pattern());
    byte[] part = Patterns.array(ElementType.BYTE, CHUNK, 2);
    Map<Long, Long> heard;
    try (HostMapping _ = target.slice(0, CHUNK).map(MapMode.READ)) {
      // The mapping keeps the newest bytes on the host, where the six chunks behind are missing.
      heard =
          heard(
              SpiCall.READ,
              TransferOptions.builder(),
              Transfer.of(part, target.slice(CHUNK, CHUNK)));
    }
    assertThat(heard).containsExactly(Map.entry((long) CHUNK, 6L));
    byte[] expected = pattern();
    System.arraycopy(part, 0, expected, CHUNK, CHUNK);
    byte[] found = new byte[BYTES];
    target.copyTo(found);
    Patterns.assertEqual(found, expected, "the buffer");
  }
}

package dev.tidepool.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.tidepool.ElementType;
import dev.tidepool.MemoryLocation;
import dev.tidepool.MemoryOptions;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.testkit.simulated.SimulatedDevice;
import dev.tidepool.transfer.Transfer;
import dev.tidepool.transfer.TransferOptions;
import dev.tidepool.transfer.TransferPriority;
import dev.tidepool.transfer.TransferReport;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Urgent transfers overtake others, on a device that is held and let go. */
@Timeout(60)
class TransferPriorityTest {
  private static final int CHUNK = 4096;
  private static final int BULK = 16 * CHUNK;

  @RegisterExtension
  private final SimulatedRig rig =
      new SimulatedRig(MemoryOptions.builder().concurrentTransfers(2).stagingChunk(CHUNK));

  private final UnifiedMemoryManager memory = rig.memory();
  private final SimulatedDevice device = rig.device();
  private final List<String> chunks = Collections.synchronizedList(new ArrayList<>());

  private static byte[] pattern(int length, int seed) {
    byte[] bytes = new byte[length];
    new java.util.SplittableRandom(seed).nextBytes(bytes);
    return bytes;
  }

  private UnifiedBuffer<byte[]> buffer(int bytes) {
    return memory.allocate(ElementType.BYTE, bytes);
  }

  private CompletableFuture<TransferReport> ask(
      TransferPriority priority, int bytes, UnifiedBuffer<byte[]> target) {
    TransferOptions options =
        TransferOptions.builder()
            .priority(priority)
            .progress((_, _) -> chunks.add(priority.name()))
            .build();
    return memory
        .transfers()
        .transferAsync(List.of(Transfer.of(pattern(bytes, bytes), target)), options);
  }

  private void awaitWrites(long count) {
    await().atMost(Duration.ofSeconds(20)).until(() -> writes() == count);
  }

  private long writes() {
    return rig.calls(SpiCall.WRITE);
  }

  private static void assertArrived(UnifiedBuffer<byte[]> buffer, int bytes) {
    byte[] read = new byte[bytes];
    buffer.copyTo(read);
    assertThat(read).isEqualTo(pattern(bytes, bytes));
  }

  @Test
  void aCriticalTransferBeginsWhileBulkHoldsAllThreads() {
    List<UnifiedBuffer<byte[]>> bulk = List.of(buffer(BULK), buffer(BULK), buffer(BULK));
    UnifiedBuffer<byte[]> urgent = buffer(3 * CHUNK);
    device.pause();
    List<CompletableFuture<TransferReport>> reports = new ArrayList<>();
    bulk.forEach(target -> reports.add(ask(TransferPriority.LOW, BULK, target)));
    // Two threads, and two chunks of each in flight.
    awaitWrites(4);
    CompletableFuture<TransferReport> critical = ask(TransferPriority.CRITICAL, 3 * CHUNK, urgent);
    awaitWrites(6);
    chunks.clear();
    device.resume();
    critical.join().orThrow();
    // The third chunk of the critical one went before the next of any other.
    assertThat(chunks.getFirst()).isEqualTo("CRITICAL");
    reports.forEach(report -> report.join().orThrow());
    assertArrived(urgent, 3 * CHUNK);
    bulk.forEach(target -> assertArrived(target, BULK));
  }

  @Test
  void anUrgentTransferGoesBetweenTheChunksOfBulk() {
    UnifiedBuffer<byte[]> bulk = buffer(BULK);
    UnifiedBuffer<byte[]> urgent = buffer(BULK);
    device.pause();
    CompletableFuture<TransferReport> low = ask(TransferPriority.LOW, BULK, bulk);
    awaitWrites(2);
    CompletableFuture<TransferReport> high = ask(TransferPriority.HIGH, BULK, urgent);
    awaitWrites(4);
    chunks.clear();
    device.resume();
    high.join().orThrow();
    low.join().orThrow();
    // Of sixteen chunks two were in flight; then the rest, and the word that all has arrived.
    List<String> urgentRest = new ArrayList<>(Collections.nCopies(14, "HIGH"));
    assertThat(chunks.subList(0, 14)).isEqualTo(urgentRest);
    assertArrived(urgent, BULK);
    assertArrived(bulk, BULK);
  }

  @Test
  void directTransfersGoInChunksToo() {
    UnifiedBuffer<byte[]> source = memory.allocate(ElementType.BYTE, BULK, MemoryLocation.PINNED);
    source.copyFrom(pattern(BULK, BULK));
    UnifiedBuffer<byte[]> bulk = buffer(BULK);
    UnifiedBuffer<byte[]> urgent = buffer(3 * CHUNK);
    long before = writes();
    device.pause();
    CompletableFuture<Void> low =
        memory
            .transfers()
            .copyAsync(
                source,
                bulk,
                TransferOptions.builder().priority(TransferPriority.LOW).chunkSize(CHUNK).build());
    awaitWrites(before + 2);
    CompletableFuture<TransferReport> high = ask(TransferPriority.HIGH, 3 * CHUNK, urgent);
    awaitWrites(before + 4);
    device.resume();
    high.join().orThrow();
    low.join();
    assertThat(writes() - before).isEqualTo(16 + 3);
    assertArrived(bulk, BULK);
    assertArrived(urgent, 3 * CHUNK);
  }

  /** Two, four and eight chunks in one while they end soon, and shorter ones at the end. */
  @Test
  void chunksOfDirectTransfersGrowOnAFastLink() {
    UnifiedBuffer<byte[]> source = memory.allocate(ElementType.BYTE, BULK, MemoryLocation.PINNED);
    source.copyFrom(pattern(BULK, BULK));
    UnifiedBuffer<byte[]> bulk = buffer(BULK);
    long before = writes();
    bulk.copyFrom(source);
    // A busy machine may hold the thread up for longer than a chunk shall take.
    assertThat(writes() - before).isBetween(6L, 16L);
    assertArrived(bulk, BULK);
  }

  @Test
  void copiesOnTheDeviceGoInChunksToo() {
    UnifiedBuffer<byte[]> source = buffer(BULK);
    source.copyFrom(pattern(BULK, BULK));
    UnifiedBuffer<byte[]> bulk = buffer(BULK);
    UnifiedBuffer<byte[]> urgent = buffer(BULK);
    UnifiedBuffer<byte[]> critical = buffer(3 * CHUNK);
    long before = rig.calls(SpiCall.COPY);
    device.pause();
    CompletableFuture<TransferReport> low = copy(TransferPriority.LOW, source, bulk);
    awaitCopies(before + 2);
    CompletableFuture<TransferReport> high = copy(TransferPriority.HIGH, source, urgent);
    awaitCopies(before + 4);
    CompletableFuture<TransferReport> most =
        copy(TransferPriority.CRITICAL, source.slice(0, 3 * CHUNK), critical);
    awaitCopies(before + 6);
    chunks.clear();
    device.resume();
    most.join().orThrow();
    high.join().orThrow();
    low.join().orThrow();
    assertThat(rig.calls(SpiCall.COPY) - before).isEqualTo(16 + 16 + 3);
    // All of them had two chunks in flight.
    assertThat(chunks.getFirst()).isEqualTo("CRITICAL");
    assertThat(chunks.lastIndexOf("HIGH")).isLessThan(chunks.lastIndexOf("LOW"));
    assertThat(chunks.subList(0, 15)).filteredOn("LOW"::equals).isEmpty();
    assertArrived(bulk, BULK);
    assertArrived(urgent, BULK);
    byte[] read = new byte[3 * CHUNK];
    critical.copyTo(read);
    assertThat(read).isEqualTo(Arrays.copyOf(pattern(BULK, BULK), 3 * CHUNK));
  }

  private CompletableFuture<TransferReport> copy(
      TransferPriority priority, UnifiedBuffer<byte[]> source, UnifiedBuffer<byte[]> target) {
    TransferOptions options =
        TransferOptions.builder()
            .priority(priority)
            .chunkSize(CHUNK)
            .progress((_, _) -> chunks.add(priority.name()))
            .build();
    return memory.transfers().transferAsync(List.of(Transfer.of(source, target)), options);
  }

  private void awaitCopies(long count) {
    await().atMost(Duration.ofSeconds(20)).until(() -> rig.calls(SpiCall.COPY) == count);
  }

  @Test
  void theMostUrgentOfWhatWaitsGoesFirst() {
    // One of the two threads waits in a listener, so that the other takes one after the other.
    CompletableFuture<Void> begun = new CompletableFuture<>();
    CompletableFuture<Void> over = new CompletableFuture<>();
    TransferOptions holding =
        TransferOptions.builder()
            .priority(TransferPriority.LOW)
            .progress(
                (_, _) -> {
                  begun.complete(null);
                  over.join();
                })
            .build();
    CompletableFuture<TransferReport> held =
        memory
            .transfers()
            .transferAsync(List.of(Transfer.of(pattern(BULK, BULK), buffer(BULK))), holding);
    begun.join();
    device.pause();
    CompletableFuture<TransferReport> first = ask(TransferPriority.NORMAL, BULK, buffer(BULK));
    awaitWrites(2);
    chunks.clear();
    List<CompletableFuture<TransferReport>> all = new ArrayList<>();
    for (TransferPriority priority :
        List.of(TransferPriority.LOW, TransferPriority.NORMAL, TransferPriority.HIGH)) {
      all.add(ask(priority, 2 * CHUNK, buffer(2 * CHUNK)));
    }
    device.resume();
    first.join().orThrow();
    all.forEach(report -> report.join().orThrow());
    over.complete(null);
    held.join().orThrow();
    List<String> inOrder = new ArrayList<>(Collections.nCopies(14, "NORMAL"));
    inOrder.addAll(List.of("HIGH", "HIGH", "NORMAL", "NORMAL", "LOW", "LOW"));
    assertThat(chunks).isEqualTo(inOrder);
  }

  @Test
  void manySmallTransfersToOneBufferGoTogether() {
    UnifiedBuffer<byte[]> target = buffer(1 << 20);
    byte[] model = pattern(1 << 20, 1);
    target.copyFrom(model);
    List<Transfer<?>> pairs = new ArrayList<>();
    for (int i = 0; i < 100; i++) {
      byte[] fresh = pattern(1000, i);
      System.arraycopy(fresh, 0, model, i * 8000, 1000);
      pairs.add(Transfer.of(fresh, target.slice(i * 8000L, 1000)));
    }
    long before = writes();
    memory.transfers().transfer(pairs, TransferOptions.defaults()).orThrow();
    // A staging block holds four of them.
    assertThat(rig.calls(SpiCall.SCATTER)).isBetween(25L, 50L);
    assertThat(writes()).isEqualTo(before);
    byte[] read = new byte[1 << 20];
    target.copyTo(read);
    assertThat(Arrays.mismatch(read, model)).isNegative();
    assertThat(memory.transfers().statistics().hostToDeviceTransfers()).isEqualTo(101);
  }

  @Test
  void manySmallTransfersFromOneBufferGoTogether() {
    UnifiedBuffer<byte[]> source = buffer(1 << 20);
    byte[] model = pattern(1 << 20, 1);
    source.copyFrom(model);
    List<Transfer<?>> pairs = new ArrayList<>();
    List<byte[]> seen = new ArrayList<>();
    for (int i = 0; i < 100; i++) {
      seen.add(new byte[1000]);
      pairs.add(Transfer.of(source.slice(i * 8000L, 1000), seen.getLast()));
    }
    long before = rig.calls(SpiCall.READ);
    memory.transfers().transfer(pairs, TransferOptions.defaults()).orThrow();
    // A staging block holds four of them.
    assertThat(rig.calls(SpiCall.GATHER)).isBetween(25L, 50L);
    assertThat(rig.calls(SpiCall.READ)).isEqualTo(before);
    for (int i = 0; i < 100; i++) {
      assertThat(seen.get(i)).isEqualTo(Arrays.copyOfRange(model, i * 8000, i * 8000 + 1000));
    }
    assertThat(memory.transfers().statistics().deviceToHostTransfers()).isEqualTo(100);
    assertThat(source.metrics().hits()).isGreaterThanOrEqualTo(100);
  }
}

package dev.tidepool.diagnostics;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import dev.tidepool.Allocation;
import dev.tidepool.ElementType;
import dev.tidepool.MemoryInfo;
import dev.tidepool.MemoryLocation;
import dev.tidepool.MemoryOptions;
import dev.tidepool.MemoryStatistics;
import dev.tidepool.Tidepool;
import dev.tidepool.TransferException;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.pooling.PoolStatistics;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A snapshot has every block, its owner, and what was allocated and freed lately. */
final class SnapshotTest {
  private static final int MIB = 1 << 20;

  @TempDir private Path folder;

  private static UnifiedMemoryManager with(MemoryOptions.Builder options) {
    return UnifiedMemoryManager.create(options.build());
  }

  private static Allocation tagged(String tag) {
    return Allocation.at(MemoryLocation.DEVICE).tag(tag);
  }

  private static List<Snapshot.Block> blocks(Snapshot snapshot, Snapshot.State state) {
    return snapshot.blocks().stream().filter(block -> block.state() == state).toList();
  }

  @Test
  void aLiveBufferStandsThereWithItsTagItsTypeItsAgeAndItsPlace() {
    try (UnifiedMemoryManager memory = with(MemoryOptions.builder());
        UnifiedBuffer<float[]> buffer =
            memory.allocate(ElementType.FLOAT, 300_000, tagged("weights"))) {
      Snapshot snapshot = memory.snapshot();
      assertThat(blocks(snapshot, Snapshot.State.LIVE))
          .singleElement()
          .satisfies(
              block -> {
                assertThat(block.tag()).isEqualTo("weights");
                assertThat(block.elementType()).isEqualTo(ElementType.FLOAT.toString());
                assertThat(block.length()).isEqualTo(buffer.length());
                assertThat(block.bytes()).isBetween(1_200_000L, 1_350_000L);
                assertThat(block.offset()).isZero();
                assertThat(block.age()).isPositive().isLessThan(snapshot.uptime());
                assertThat(block.site()).isEmpty();
              });
      assertThat(snapshot.tags()).containsExactly(new Snapshot.Tag("weights", 1_200_000, 1));
      assertThat(snapshot.reason()).isEqualTo("request");
      assertThat(snapshot.accelerator()).isEqualTo(memory.accelerator().id());
      assertThat(snapshot.statistics())
          .usingRecursiveComparison()
          .ignoringFields("uptimeNanos")
          .isEqualTo(memory.statistics());
    }
  }

  @Test
  void fromLevelSitesOnABlockHasThePlaceThatAllocatedIt() {
    try (UnifiedMemoryManager memory =
            with(MemoryOptions.builder().diagnostics(DiagnosticsLevel.SITES).siteSampling(1));
        UnifiedBuffer<float[]> buffer = memory.allocate(ElementType.FLOAT, 10)) {
      assertThat(buffer.length()).isEqualTo(10);
      assertThat(blocks(memory.snapshot(), Snapshot.State.LIVE))
          .singleElement()
          .satisfies(block -> assertThat(block.site()).contains("SnapshotTest"));
    }
  }

  @Test
  void idleBlocksAndLiveOnesAddUpToWhatThePoolsHold() {
    try (UnifiedMemoryManager memory = with(MemoryOptions.builder())) {
      List<UnifiedBuffer<byte[]>> buffers = new ArrayList<>();
      for (int i = 1; i <= 500; i++) {
        buffers.add(memory.allocate(ElementType.BYTE, 977L * i, tagged("tag " + i % 7)));
      }
      buffers.subList(0, 250).forEach(UnifiedBuffer::close);
      Snapshot snapshot = memory.snapshot();
      assertThat(blocks(snapshot, Snapshot.State.LIVE)).hasSize(250);
      assertThat(snapshot.blocks())
          .extracting(Snapshot.Block::state)
          .doesNotContain(Snapshot.State.BUSY);
      assertThat(snapshot.blocks().stream().mapToLong(Snapshot.Block::bytes).sum())
          .isEqualTo(memory.statistics().reservedBytes());
      assertThat(bytes(blocks(snapshot, Snapshot.State.IDLE)))
          .isEqualTo(memory.statistics().totalPooled());
      assertThat(snapshot.tags().stream().mapToLong(Snapshot.Tag::liveBytes).sum())
          .isEqualTo(memory.statistics().totalAllocated());
      assertThat(snapshot.tags()).hasSize(7);
      long idle =
          snapshot.pools().stream()
              .map(pool -> (PoolStatistics) pool.statistics())
              .mapToLong(PoolStatistics::idleBytes)
              .sum();
      assertThat(idle).isEqualTo(memory.statistics().totalPooled());
      buffers.forEach(UnifiedBuffer::close);
    }
  }

  private static long bytes(List<Snapshot.Block> blocks) {
    return blocks.stream().mapToLong(Snapshot.Block::bytes).sum();
  }

  @Test
  void theBlocksOfASlabLieSideBySide() {
    try (UnifiedMemoryManager memory = with(MemoryOptions.builder())) {
      List<UnifiedBuffer<byte[]>> buffers = new ArrayList<>();
      for (int i = 0; i < 500; i++) {
        buffers.add(memory.allocate(ElementType.BYTE, 1000));
      }
      Map<Long, List<Snapshot.Block>> slabs =
          memory.snapshot().blocks().stream().collect(Collectors.groupingBy(Snapshot.Block::slab));
      assertThat(slabs).hasSizeBetween(2, 100);
      for (List<Snapshot.Block> slab : slabs.values()) {
        assertThat(slab)
            .extracting(Snapshot.Block::offset)
            .containsExactlyElementsOf(
                IntStream.range(0, slab.size()).mapToObj(i -> 1024L * i).toList());
      }
      buffers.forEach(UnifiedBuffer::close);
    }
  }

  @Test
  void memoryOfOthersStandsThereWithoutAPool() {
    try (Arena arena = Arena.ofShared();
        UnifiedMemoryManager memory = with(MemoryOptions.builder());
        UnifiedBuffer<byte[]> wrapped = memory.wrap(ElementType.BYTE, arena.allocate(100))) {
      assertThat(wrapped.length()).isEqualTo(100);
      assertThat(memory.snapshot().blocks())
          .singleElement()
          .satisfies(
              block -> {
                assertThat(block.pool()).isEqualTo(Snapshot.NO_POOL);
                assertThat(block.tag()).isEqualTo("wrapped");
                assertThat(block.bytes()).isEqualTo(100);
              });
    }
  }

  @Test
  void whatAnotherManagerHasOfASharedPoolIsBusy() {
    try (Tidepool tidepool = Tidepool.open();
        UnifiedMemoryManager other =
            UnifiedMemoryManager.create(tidepool.accelerator("cpu:0"), MemoryOptions.defaults());
        UnifiedBuffer<byte[]> buffer = other.allocate(ElementType.BYTE, MIB, tagged("theirs"))) {
      assertThat(buffer.length()).isEqualTo(MIB);
      Snapshot snapshot = tidepool.memory(tidepool.accelerator("cpu:0")).snapshot();
      assertThat(snapshot.blocks())
          .singleElement()
          .satisfies(
              block -> {
                assertThat(block.state()).isEqualTo(Snapshot.State.BUSY);
                assertThat(block.tag()).isEqualTo("theirs");
              });
      assertThat(snapshot.tags()).isEmpty();
    }
  }

  @Test
  void theHistoryHasTheLatestAllocationsAndFreesInTheirOrder() {
    try (UnifiedMemoryManager memory = with(MemoryOptions.builder().history(5))) {
      for (int i = 1; i <= 4; i++) {
        UnifiedBuffer<byte[]> buffer = memory.allocate(ElementType.BYTE, 100 * i, tagged("t" + i));
        if (i == 2) {
          // The free of a buffer that was used is another way.
          buffer.fill((byte) 1);
        }
        buffer.close();
      }
      Snapshot snapshot = memory.snapshot();
      assertThat(snapshot.history())
          .extracting(Snapshot.Change::bytes)
          .containsExactly(-200L, 300L, -300L, 400L, -400L);
      assertThat(snapshot.history())
          .extracting(Snapshot.Change::tag)
          .containsExactly("t2", "t3", "t3", "t4", "t4");
      assertThat(snapshot.history()).extracting(Snapshot.Change::at).isSorted();
      assertThat(snapshot.history().getLast().at()).isLessThanOrEqualTo(snapshot.uptime());
      assertThat(snapshot.forgotten()).isEqualTo(3);
    }
  }

  @Test
  void thereIsAHistoryWhereItIsAskedFor() {
    MemoryOptions.Builder sites = MemoryOptions.builder().diagnostics(DiagnosticsLevel.SITES);
    assertThat(historyAfterOneBuffer(MemoryOptions.builder())).isEmpty();
    assertThat(historyAfterOneBuffer(sites)).isEmpty();
    assertThat(historyAfterOneBuffer(sites.history(7))).hasSize(2);
  }

  @Test
  void thereIsAHistoryAtLevelParanoidAndWhereDumpsGoUnlessTheOptionSaysOtherwise() {
    MemoryOptions.Builder paranoid = MemoryOptions.builder().diagnostics(DiagnosticsLevel.PARANOID);
    assertThat(historyAfterOneBuffer(paranoid)).hasSize(2);
    assertThat(historyAfterOneBuffer(paranoid.history(0))).isEmpty();
    MemoryOptions.Builder dumping = MemoryOptions.builder().dumpDirectory(folder);
    assertThat(historyAfterOneBuffer(dumping)).hasSize(2);
  }

  private static List<Snapshot.Change> historyAfterOneBuffer(MemoryOptions.Builder options) {
    try (UnifiedMemoryManager memory = with(options)) {
      memory.allocate(ElementType.BYTE, 1).close();
      return memory.snapshot().history();
    }
  }

  @Test
  void aHistoryOfManyThreadsAddsUpToWhatIsLive() throws Exception {
    try (UnifiedMemoryManager memory = with(MemoryOptions.builder().history(1_000_000))) {
      List<UnifiedBuffer<byte[]>> kept = new CopyOnWriteArrayList<>();
      inThreads(
          4,
          thread -> {
            for (int i = 0; i < 5000; i++) {
              UnifiedBuffer<byte[]> buffer =
                  memory.allocate(ElementType.BYTE, 1 + i, tagged("thread " + thread));
              if (i % 100 == thread) {
                kept.add(buffer);
              } else {
                buffer.close();
              }
            }
          });
      Snapshot snapshot = memory.snapshot();
      Map<String, Long> sums = new HashMap<>();
      snapshot.history().forEach(change -> sums.merge(change.tag(), change.bytes(), Long::sum));
      assertThat(snapshot.tags()).hasSize(4);
      for (Snapshot.Tag tag : snapshot.tags()) {
        assertThat(sums).containsEntry(tag.name(), tag.liveBytes());
      }
      kept.forEach(UnifiedBuffer::close);
    }
  }

  private interface Body {
    void run(int thread);
  }

  private static void inThreads(int count, Body body) throws InterruptedException {
    List<Throwable> failures = new CopyOnWriteArrayList<>();
    List<Thread> threads =
        IntStream.range(0, count)
            .mapToObj(
                number ->
                    Thread.ofPlatform()
                        .uncaughtExceptionHandler((_, failure) -> failures.add(failure))
                        .start(() -> body.run(number)))
            .toList();
    for (Thread thread : threads) {
      thread.join();
    }
    assertThat(failures).isEmpty();
  }

  @Test
  void snapshotsOfABusyManagerAreWholeAndStopNobody() throws Exception {
    try (UnifiedMemoryManager memory = with(MemoryOptions.builder().history(1000));
        UnifiedBuffer<byte[]> constant =
            memory.allocate(ElementType.BYTE, 12345, tagged("constant"))) {
      assertThat(constant.length()).isEqualTo(12345);
      AtomicBoolean done = new AtomicBoolean();
      inThreads(
          4,
          thread -> {
            if (thread == 0) {
              for (int i = 0; i < 200; i++) {
                Snapshot snapshot = memory.snapshot();
                assertThat(snapshot.tags()).contains(new Snapshot.Tag("constant", 12345, 1));
                assertThat(parsed(snapshot).get("tidepool-snapshot").getAsInt()).isEqualTo(1);
              }
              done.set(true);
            } else {
              while (!done.get()) {
                memory.allocate(ElementType.BYTE, 10_000L * thread, tagged("t")).close();
              }
            }
          });
    }
  }

  private static JsonObject parsed(Snapshot snapshot) {
    return JsonParser.parseString(snapshot.toJson()).getAsJsonObject();
  }

  /** A row of a table of the JSON form, by the names of its columns. */
  private static Map<String, Long> row(JsonObject table, int number) {
    Map<String, Long> row = new HashMap<>();
    JsonArray columns = table.getAsJsonArray("columns");
    JsonArray values = table.getAsJsonArray("rows").get(number).getAsJsonArray();
    assertThat(values).hasSameSizeAs(columns);
    for (int i = 0; i < columns.size(); i++) {
      row.put(columns.get(i).getAsString(), values.get(i).getAsLong());
    }
    return row;
  }

  @Test
  void theJsonFormHasEverythingThatTheSnapshotHas() {
    try (UnifiedMemoryManager memory =
            with(MemoryOptions.builder().diagnostics(DiagnosticsLevel.SITES).history(100));
        UnifiedBuffer<int[]> buffer = memory.allocate(ElementType.INT, 100, tagged("t"))) {
      assertThat(buffer.length()).isEqualTo(100);
      memory.allocate(ElementType.BYTE, 5, tagged("gone")).close();
      Snapshot snapshot = memory.snapshot();
      JsonObject json = parsed(snapshot);
      assertThat(json.get("tidepool-snapshot").getAsInt()).isEqualTo(1);
      assertThat(json.get("time").getAsString()).isEqualTo(snapshot.time().toString());
      assertThat(json.get("accelerator").getAsString()).isEqualTo(snapshot.accelerator());
      assertThat(json.getAsJsonObject("memory").get("totalBytes").getAsLong())
          .isEqualTo(snapshot.memory().totalBytes());
      assertThat(json.getAsJsonObject("statistics").get("totalAllocated").getAsLong())
          .isEqualTo(400);
      JsonArray pools = json.getAsJsonArray("pools");
      assertThat(pools).hasSameSizeAs(snapshot.pools());
      assertThat(pools.get(0).getAsJsonObject().getAsJsonObject("statistics").has("idleBytes"))
          .isTrue();
      JsonObject blocks = json.getAsJsonObject("blocks");
      assertThat(blocks.getAsJsonArray("rows")).hasSameSizeAs(snapshot.blocks());
      for (int i = 0; i < snapshot.blocks().size(); i++) {
        Snapshot.Block block = snapshot.blocks().get(i);
        Map<String, Long> row = row(blocks, i);
        assertThat(row)
            .containsEntry("pool", (long) block.pool())
            .containsEntry("slab", block.slab())
            .containsEntry("offset", block.offset())
            .containsEntry("bytes", block.bytes())
            .containsEntry("length", block.length())
            .containsEntry("ageMicros", block.age().toNanos() / 1000);
        assertThat(text(json, "states", row.get("state")))
            .isEqualToIgnoringCase(block.state().name());
        assertThat(text(json, "types", row.get("type"))).isEqualTo(block.elementType());
        assertThat(text(json, "sites", row.get("site"))).isEqualTo(block.site());
        assertThat(tag(json, row.get("tag")).get("name").getAsString()).isEqualTo(block.tag());
      }
      JsonObject history = json.getAsJsonObject("history");
      assertThat(row(history, 1)).containsEntry("bytes", 5L);
      assertThat(row(history, 2)).containsEntry("bytes", -5L);
      JsonObject gone = tag(json, row(history, 2).get("tag"));
      assertThat(gone.get("name").getAsString()).isEqualTo("gone");
      assertThat(gone.get("liveBytes").getAsLong()).isZero();
      assertThat(tag(json, row(history, 0).get("tag")).get("liveBytes").getAsLong()).isEqualTo(400);
    }
  }

  private static String text(JsonObject json, String list, long index) {
    return json.getAsJsonArray(list).get((int) index).getAsString();
  }

  private static JsonObject tag(JsonObject json, long index) {
    return json.getAsJsonArray("tags").get((int) index).getAsJsonObject();
  }

  @Test
  void everyTagSurvivesTheJsonFormAndNoneEndsAScript() {
    String odd = "\"\\ \n\r\t\0\u0007\u2028\u2029\u00e9\u6f22\ud83c\udf0a </script><!--";
    try (UnifiedMemoryManager memory = with(MemoryOptions.builder());
        UnifiedBuffer<byte[]> buffer = memory.allocate(ElementType.BYTE, 1, tagged(odd))) {
      assertThat(buffer.length()).isEqualTo(1);
      String json = memory.snapshot().toJson();
      assertThat(json).doesNotContain("<", "\u2028");
      JsonObject parsed = JsonParser.parseString(json).getAsJsonObject();
      List<String> names =
          parsed.getAsJsonArray("tags").asList().stream()
              .map(JsonElement::getAsJsonObject)
              .map(tag -> tag.get("name").getAsString())
              .toList();
      assertThat(names).contains(odd);
    }
  }

  /** Many a reader of JSON refuses an escape of half a pair. */
  @ParameterizedTest
  @CsvSource({"a\ud83cb", "\udf0a", "\udf0a\ud83c", "\ud83c\ud83c\udf0a", "a\ud83c"})
  void halfOfASurrogatePairInATagIsWrittenOut(String odd) {
    try (UnifiedMemoryManager memory = with(MemoryOptions.builder());
        UnifiedBuffer<byte[]> buffer = memory.allocate(ElementType.BYTE, 1, tagged(odd))) {
      assertThat(buffer.length()).isEqualTo(1);
      String json = memory.snapshot().toJson();
      String name =
          JsonParser.parseString(json)
              .getAsJsonObject()
              .getAsJsonArray("tags")
              .get(0)
              .getAsJsonObject()
              .get("name")
              .getAsString();
      assertThat(StandardCharsets.UTF_16.newEncoder().canEncode(name)).as(name).isTrue();
      StringBuilder expected = new StringBuilder();
      odd.codePoints()
          .forEach(
              c ->
                  expected.append(
                      Character.getType(c) == Character.SURROGATE
                          ? "\\u" + Integer.toHexString(c)
                          : Character.toString(c)));
      assertThat(name).isEqualTo(expected.toString());
    }
  }

  @Test
  void aFileIsWrittenForItsOwnerOnlyAndNoneIsReplaced() throws IOException {
    Path file = folder.resolve("snapshot.json");
    try (UnifiedMemoryManager memory = with(MemoryOptions.builder())) {
      Snapshot snapshot = memory.snapshot();
      snapshot.writeTo(file);
      assertThat(Files.readString(file)).isEqualTo(snapshot.toJson());
      assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(file)))
          .isEqualTo("rw-------");
      assertThatThrownBy(() -> snapshot.writeTo(file))
          .isInstanceOf(TransferException.class)
          .hasMessage("cannot write the snapshot " + file + ": it exists; name another file");
      Path nowhere = folder.resolve("nowhere").resolve("snapshot.json");
      assertThatThrownBy(() -> snapshot.writeTo(nowhere))
          .isInstanceOf(TransferException.class)
          .hasMessageContaining("its folder does not exist");
    }
  }

  /** What cannot be written. */
  private record Unreadable(int figure) {
    @Override
    public int figure() {
      throw new IllegalStateException("on purpose");
    }
  }

  @Test
  void whateverTheFailureNoPartOfAFileIsLeft() {
    Path file = folder.resolve("snapshot.json");
    MemoryStatistics none =
        new MemoryStatistics(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
    Snapshot snapshot =
        new Snapshot(
            Instant.EPOCH,
            Duration.ZERO,
            "request",
            "cpu:0",
            new MemoryInfo(0, 0, false),
            none,
            List.of(new Snapshot.Pool("a pool", new Unreadable(1))),
            List.of(),
            List.of(),
            List.of(),
            0,
            List.of());
    assertThatThrownBy(() -> snapshot.writeTo(file)).isInstanceOf(IllegalStateException.class);
    assertThat(file).doesNotExist();
  }

  @Test
  void aFolderThatIsNoneIsOneClearErrorAtTheStart() {
    Path nowhere = folder.resolve("nowhere");
    MemoryOptions options = MemoryOptions.builder().dumpDirectory(nowhere).build();
    assertThatThrownBy(() -> Tidepool.open(options))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage(
            "dump-directory is " + nowhere + "; it must be a folder that can be written to");
  }

  @Test
  void aClosedManagerHasNoSnapshot() {
    UnifiedMemoryManager memory = with(MemoryOptions.builder());
    memory.close();
    assertThatThrownBy(memory::snapshot).isInstanceOf(IllegalStateException.class);
  }
}

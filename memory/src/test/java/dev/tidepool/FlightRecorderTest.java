package dev.tidepool;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.tidepool.diagnostics.DiagnosticsLevel;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What happens to memory is told to Java Flight Recorder, where there is one. */
final class FlightRecorderTest {
  private static final int MIB = 1 << 20;

  @TempDir private Path folder;

  /** A recording of one kind of event, which is its name. */
  private static Recording recording(String kind, Map<String, String> settings) {
    Recording recording = new Recording();
    recording.setName("dev.tidepool." + kind);
    settings.forEach((name, value) -> recording.enable(recording.getName()).with(name, value));
    recording.start();
    return recording;
  }

  /** What a recording has of its kind so far. */
  private List<RecordedEvent> events(Recording recording) throws IOException {
    String kind = recording.getName();
    Path file = folder.resolve("events.jfr");
    recording.dump(file);
    return RecordingFile.readAllEvents(file).stream()
        .filter(event -> event.getEventType().getName().equals(kind))
        .toList();
  }

  @Test
  void allocationsAreRecordedWithWhatWasAllocatedAndByWhom() throws IOException {
    try (Recording recording = recording("Allocation", Map.of("throttle", "off"));
        UnifiedMemoryManager memory = UnifiedMemoryManager.create()) {
      memory
          .allocate(ElementType.FLOAT, 1000, Allocation.at(MemoryLocation.HOST).tag("weights"))
          .close();
      assertThat(events(recording))
          .singleElement()
          .satisfies(
              event -> {
                assertThat(event.getString("accelerator")).isEqualTo(memory.accelerator().id());
                assertThat(event.getString("location")).isEqualTo("HOST");
                assertThat(event.getString("elementType")).isEqualTo(ElementType.FLOAT.toString());
                assertThat(event.getString("tag")).isEqualTo("weights");
                assertThat(event.getLong("bytes")).isEqualTo(4000);
                assertThat(event.getStackTrace().getFrames())
                    .anyMatch(
                        frame -> frame.getMethod().getType().getName().endsWith("RecorderTest"));
                assertThat(event.getEventType().getCategoryNames())
                    .containsExactly("Tidepool", "Memory");
              });
    }
  }

  @Test
  void ofManyAllocationsASampleIsRecorded() throws IOException {
    int allocations = 100_000;
    try (Recording recording = recording("Allocation", Map.of("throttle", "10/s"));
        UnifiedMemoryManager memory = UnifiedMemoryManager.create()) {
      for (int i = 0; i < allocations; i++) {
        memory.allocate(ElementType.BYTE, 100).close();
      }
      assertThat(events(recording)).hasSizeBetween(1, allocations / 10);
    }
  }

  @Test
  void aPoolMissIsRecordedWithItsPoolAndAHitIsNot() throws IOException {
    try (Recording recording = recording("PoolMiss", Map.of());
        UnifiedMemoryManager memory = UnifiedMemoryManager.create()) {
      memory.allocate(ElementType.BYTE, 5 * MIB).close();
      memory.allocate(ElementType.BYTE, 5 * MIB).close();
      assertThat(memory.statistics().poolMisses()).isEqualTo(1);
      assertThat(events(recording))
          .singleElement()
          .satisfies(
              event -> {
                assertThat(event.getLong("bytes")).isEqualTo(5 * MIB);
                assertThat(event.getString("pool")).isNotEmpty();
                assertThat(event.getDuration()).isPositive();
              });
    }
  }

  @Test
  void aTrimIsRecordedWithTheBytesThatItGaveBackAndOneOfNothingIsNot() throws IOException {
    try (Recording recording = recording("Trim", Map.of());
        UnifiedMemoryManager memory = UnifiedMemoryManager.create()) {
      memory.trimExcess();
      memory.allocate(ElementType.BYTE, 3 * MIB).close();
      long bytes = memory.trimExcess();
      assertThat(bytes).isEqualTo(3 * MIB);
      assertThat(events(recording))
          .singleElement()
          .satisfies(
              event -> {
                assertThat(event.getLong("bytes")).isEqualTo(bytes);
                assertThat(event.getString("cause")).isEqualTo("request");
              });
    }
  }

  @Test
  void aTrimByTimeSaysSo() throws IOException {
    MemoryOptions options =
        MemoryOptions.builder().trimInterval(Duration.ofMillis(300)).keptPoolBytes(0).build();
    try (Recording recording = recording("Trim", Map.of());
        UnifiedMemoryManager memory = UnifiedMemoryManager.create(options)) {
      memory.allocate(ElementType.BYTE, 3 * MIB).close();
      await().atMost(Duration.ofSeconds(20)).until(() -> memory.statistics().totalPooled() == 0);
      await()
          .atMost(Duration.ofSeconds(20))
          .untilAsserted(
              () -> {
                assertThat(events(recording))
                    .singleElement()
                    .satisfies(event -> assertThat(event.getString("cause")).isEqualTo("age"));
              });
    }
  }

  @Test
  void everySpillIsRecordedWithWhatWentToTheFile(@TempDir Path folder) throws IOException {
    MemoryOptions options =
        MemoryOptions.builder().memoryLimit(4 << 20).spillDirectory(folder).build();
    try (Recording recording = recording("Spill", Map.of());
        UnifiedMemoryManager memory = UnifiedMemoryManager.create(options)) {
      List<UnifiedBuffer<byte[]>> buffers = new ArrayList<>();
      for (int i = 0; i < 6; i++) {
        Allocation tagged = Allocation.at(MemoryLocation.DEVICE).tag("part " + i);
        UnifiedBuffer<byte[]> buffer = memory.allocate(ElementType.BYTE, 1 << 20, tagged);
        buffer.fill((byte) i);
        buffers.add(buffer);
      }
      List<RecordedEvent> events = events(recording);
      assertThat(events).hasSize((int) memory.statistics().spills()).hasSizeGreaterThan(1);
      assertThat(events.getFirst().getString("tag")).isEqualTo("part 0");
      assertThat(events.getFirst().getLong("bytes")).isEqualTo(1 << 20);
      assertThat(events.getFirst().getDuration()).isPositive();
      buffers.forEach(UnifiedBuffer::close);
    }
  }

  @Test
  void aLeakIsRecordedWithItsTagAndItsSite() throws IOException {
    MemoryOptions options =
        MemoryOptions.builder().diagnostics(DiagnosticsLevel.SITES).siteSampling(1).build();
    try (Recording recording = recording("Leak", Map.of());
        UnifiedMemoryManager memory = UnifiedMemoryManager.create(options)) {
      memory.allocate(
          ElementType.BYTE, 1234, Allocation.at(MemoryLocation.DEVICE).tag("forgotten"));
      await()
          .atMost(Duration.ofSeconds(20))
          .until(
              () -> {
                System.gc();
                return memory.statistics().leaks() == 1;
              });
      await()
          .atMost(Duration.ofSeconds(20))
          .untilAsserted(
              () -> {
                assertThat(events(recording))
                    .singleElement()
                    .satisfies(
                        event -> {
                          assertThat(event.getString("tag")).isEqualTo("forgotten");
                          assertThat(event.getLong("bytes")).isEqualTo(1234);
                          assertThat(event.getString("site")).contains("FlightRecorderTest");
                          assertThat(event.getDuration("age")).isPositive();
                        });
              });
    }
  }

  @Test
  void runningOutOfMemoryIsRecordedWithWhatTheErrorSays() throws IOException {
    long tooMuch = 1L << 60;
    try (Recording recording = recording("OutOfMemory", Map.of());
        UnifiedMemoryManager memory = UnifiedMemoryManager.create();
        UnifiedBuffer<byte[]> buffer = memory.allocate(ElementType.BYTE, MIB)) {
      assertThat(buffer.length()).isEqualTo(MIB);
      assertThatThrownBy(() -> memory.allocate(ElementType.BYTE, tooMuch))
          .isInstanceOf(OutOfDeviceMemoryException.class);
      assertThat(events(recording))
          .singleElement()
          .satisfies(
              event -> {
                assertThat(event.getLong("requested")).isEqualTo(tooMuch);
                assertThat(event.getLong("live")).isEqualTo(MIB);
                assertThat(event.getString("message")).contains(Long.toString(tooMuch));
              });
    }
  }

  @Test
  void anImageWithoutTheRecorderOrManagementWorksAndSaysWhatIsMissing() throws Exception {
    Path output = folder.resolve("output");
    Process process =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--limit-modules=java.base",
                "--enable-native-access=ALL-UNNAMED",
                "-cp",
                System.getProperty("java.class.path"),
                WithoutModules.class.getName())
            .redirectErrorStream(true)
            .redirectOutput(output.toFile())
            .start();
    assertThat(process.waitFor()).as(Files.readString(output)).isZero();
    assertThat(Files.readAllLines(output))
        .endsWith("3 of [java.base]")
        .anyMatch(line -> line.contains("cpu:0 has no management bean"));
  }

  /** Uses memory in every way that is recorded. */
  static final class WithoutModules {
    private WithoutModules() {}

    public static void main(String[] arguments) {
      try (UnifiedMemoryManager memory =
              UnifiedMemoryManager.create(MemoryOptions.builder().jmx(true).build());
          UnifiedBuffer<int[]> buffer = memory.copyOf(new int[] {1, 2, 3})) {
        memory.trimExcess();
        try {
          memory.allocate(ElementType.BYTE, 1L << 60).close();
        } catch (OutOfDeviceMemoryException expected) {
          int[] copy = new int[3];
          buffer.copyTo(copy);
          System.out.println(
              copy[2]
                  + " of "
                  + ModuleLayer.boot().modules().stream()
                      .map(Module::getName)
                      .filter(name -> !name.startsWith("jdk.internal"))
                      .toList());
        }
      }
    }
  }
}

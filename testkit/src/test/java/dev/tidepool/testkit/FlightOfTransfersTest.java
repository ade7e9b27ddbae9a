package dev.tidepool.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import dev.tidepool.Allocation;
import dev.tidepool.ElementType;
import dev.tidepool.MemoryLocation;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.spi.Discovery;
import dev.tidepool.testkit.simulated.SimulatedHardware;
import dev.tidepool.testkit.simulated.SimulatedProvider;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What travels to and from a device of its own is told to Java Flight Recorder. */
class FlightOfTransfersTest {
  private static final int MEBIBYTE = 1 << 20;

  @TempDir private Path folder;

  private static Tidepool device(long bytes) {
    SimulatedProvider simulated =
        new SimulatedProvider(SimulatedHardware.discrete().withMemory(bytes));
    return Discovery.using(List.of(simulated), Tidepool::open);
  }

  private List<RecordedEvent> events(Recording recording, String kind) throws IOException {
    Path file = folder.resolve("events.jfr");
    recording.dump(file);
    return RecordingFile.readAllEvents(file).stream()
        .filter(event -> event.getEventType().getName().equals("dev.tidepool." + kind))
        .toList();
  }

  @Test
  void everyTransferIsRecordedWithItsBytesItsDirectionItsWayAndItsTime() throws IOException {
    try (Tidepool tidepool = device(64 * MEBIBYTE);
        Recording recording = new Recording()) {
      recording.enable("dev.tidepool.Transfer").withoutThreshold();
      recording.start();
      UnifiedMemoryManager memory = tidepool.memory();
      Allocation tagged = Allocation.at(MemoryLocation.DEVICE).tag("x");
      try (UnifiedBuffer<byte[]> x = memory.allocate(ElementType.BYTE, MEBIBYTE, tagged);
          UnifiedBuffer<byte[]> y = memory.allocate(ElementType.BYTE, MEBIBYTE)) {
        x.copyFrom(new byte[MEBIBYTE]);
        y.copyFrom(x);
        assertThat(x.asReadOnlySegment().byteSize()).isEqualTo(MEBIBYTE);
      }
      List<RecordedEvent> events = events(recording, "Transfer");
      assertThat(events)
          .extracting(
              event -> event.getString("direction"),
              event -> event.getString("way"),
              event -> event.getString("tag"),
              event -> event.getLong("bytes"),
              event -> event.getString("accelerator"))
          .containsExactly(
              tuple("HOST_TO_DEVICE", "STAGED_PINNED", "x", (long) MEBIBYTE, "simulated:0"),
              tuple("DEVICE_TO_DEVICE", "DEVICE_LOCAL", "", (long) MEBIBYTE, "simulated:0"),
              tuple("DEVICE_TO_HOST", "PINNED_DIRECT", "x", (long) MEBIBYTE, "simulated:0"));
      assertThat(events).allSatisfy(event -> assertThat(event.getDuration()).isPositive());
      long counted =
          memory.transfers().statistics().hostToDeviceBytes()
              + memory.transfers().statistics().deviceToHostBytes();
      assertThat(counted).as("the same as the statistics have").isEqualTo(2 * MEBIBYTE);
    }
  }

  @Test
  void everyEvictionIsRecordedWithWhatWasGivenUp() throws IOException {
    try (Tidepool tidepool = device(2 * MEBIBYTE);
        Recording recording = new Recording()) {
      recording.enable("dev.tidepool.Eviction").withoutThreshold();
      recording.start();
      UnifiedMemoryManager memory = tidepool.memory();
      List<UnifiedBuffer<byte[]>> buffers = new ArrayList<>();
      for (int i = 0; i < 4; i++) {
        Allocation tagged = Allocation.at(MemoryLocation.DEVICE).tag("buffer " + i);
        UnifiedBuffer<byte[]> buffer = memory.allocate(ElementType.BYTE, MEBIBYTE, tagged);
        buffer.fill((byte) i);
        buffers.add(buffer);
      }
      List<RecordedEvent> events = events(recording, "Eviction");
      assertThat(events).hasSize((int) memory.statistics().evictions()).hasSizeGreaterThan(1);
      assertThat(events.getFirst().getString("tag")).isEqualTo("buffer 0");
      assertThat(events.getFirst().getLong("bytes")).isEqualTo(MEBIBYTE);
      assertThat(events.getFirst().getDuration()).isPositive();
      buffers.forEach(UnifiedBuffer::close);
    }
  }
}

package dev.tidepool;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.assertj.core.api.Assumptions.assumeThat;
import static org.junit.jupiter.api.Assumptions.abort;

import dev.tidepool.transfer.PeerAccess;
import dev.tidepool.transfer.Transfer;
import dev.tidepool.transfer.TransferEngine;
import dev.tidepool.transfer.TransferOptions;
import dev.tidepool.transfer.TransferReport;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;
import org.assertj.core.api.SoftAssertions;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Each mistake is one clear exception, and changes nothing. */
class BadInputTest {
  private final Tidepool tidepool = Tidepool.open();
  private final UnifiedMemoryManager memory = tidepool.memory(tidepool.accelerator("cpu:0"));

  @AfterEach
  void close() {
    tidepool.close();
  }

  @Test
  @SuppressWarnings({"NullAway", "DataFlowIssue"}) // that is the mistake
  void aMissingArgumentIsNamed() {
    UnifiedBuffer<float[]> buffer = memory.allocate(ElementType.FLOAT, 4);
    SoftAssertions softly = new SoftAssertions();
    Map<ThrowingCallable, String> mistakes = new LinkedHashMap<>();
    mistakes.put(() -> buffer.copyFrom((float[]) null), "source");
    mistakes.put(() -> buffer.copyFrom((float[]) null, 0, 0, 0), "source");
    mistakes.put(() -> buffer.copyFromAsync((float[]) null), "source");
    mistakes.put(() -> buffer.copyTo((float[]) null), "destination");
    mistakes.put(() -> buffer.copyTo(0, (float[]) null, 0, 0), "destination");
    mistakes.put(() -> buffer.copyFrom((MemorySegment) null, 0), "source");
    mistakes.put(() -> buffer.copyTo(0, (MemorySegment) null), "destination");
    mistakes.put(() -> buffer.copyFrom((UnifiedBuffer<float[]>) null), "source");
    mistakes.put(() -> buffer.map(null), "mode");
    mistakes.put(() -> buffer.as(null), "type");
    mistakes.put(() -> memory.allocate(null, 4), "type");
    mistakes.put(() -> memory.allocate(ElementType.FLOAT, 4, (Allocation) null), "allocation");
    mistakes.put(() -> memory.copyOf(null), "array");
    mistakes.put(() -> memory.wrap(ElementType.FLOAT, null), "memory");
    mistakes.put(() -> memory.map(Path.of("none"), null, MapMode.READ), "type");
    mistakes.put(() -> memory.compile(null), "source");
    Allocation host = Allocation.at(MemoryLocation.HOST);
    mistakes.put(() -> memory.allocateAsync(null, 4, host), "type");
    mistakes.put(() -> memory.allocateAsync(ElementType.FLOAT, 4, null), "allocation");
    mistakes.put(() -> memory.createShared(null, 4, "shared"), "type");
    mistakes.put(() -> memory.createShared(ElementType.FLOAT, 4, null), "name");
    mistakes.put(() -> memory.openShared(null, "shared"), "type");
    mistakes.put(() -> memory.openShared(ElementType.FLOAT, null), "name");
    mistakes.put(() -> memory.arrays(null), "type");
    mistakes.put(() -> memory.pushPeak(null), "name");
    mistakes.put(() -> memory.wrap(null, MemorySegment.NULL), "type");
    mistakes.put(() -> memory.wrap(ElementType.FLOAT, MemorySegment.NULL, null), "location");
    mistakes.put(() -> memory.map(null, ElementType.FLOAT, MapMode.READ), "file");
    mistakes.put(() -> memory.map(Path.of("none"), ElementType.FLOAT, null), "mode");
    TransferEngine transfers = memory.transfers();
    mistakes.put(() -> transfers.copy(null, buffer), "source");
    mistakes.put(() -> transfers.copy(buffer, null), "destination");
    mistakes.put(() -> transfers.copyAsync(buffer, null), "destination");
    mistakes.put(() -> transfers.transfer(null, TransferOptions.defaults()), "transfers");
    mistakes.put(() -> transfers.transfer(List.of(), null), "options");
    PeerAccess peers = tidepool.peers();
    mistakes.put(() -> peers.scatter(null, List.of()), "source");
    mistakes.put(() -> peers.scatter(buffer, null), "parts");
    mistakes.put(() -> peers.gather(null, buffer), "parts");
    mistakes.put(() -> peers.gather(List.of(), null), "destination");
    mistakes.put(() -> peers.broadcast(null, List.of()), "source");
    mistakes.put(() -> peers.broadcast(buffer, null), "destinations");
    mistakes.put(() -> peers.way(null, memory.accelerator()), "accelerator");
    mistakes.forEach(
        (mistake, name) ->
            softly
                .assertThatThrownBy(mistake)
                .isInstanceOf(NullPointerException.class)
                .hasMessage(name));
    softly.assertAll();
    assertThat(memory.statistics().activeBuffers()).isEqualTo(1);
  }

  @Test
  void aSourceThatIsTooLongIsToldWithWhatTakesIt() {
    UnifiedBuffer<float[]> buffer = memory.allocate(ElementType.FLOAT, 4, tagged());
    assertThatThrownBy(() -> buffer.copyFrom(new float[5]))
        .isInstanceOf(IndexOutOfBoundsException.class)
        .hasMessage("the source has 5 elements, but buffer 'short' (FLOAT[4] in DEVICE) takes 4");
    assertThatThrownBy(() -> buffer.slice(1, 2).copyFrom(memory.copyOf(new float[3])))
        .isInstanceOf(IndexOutOfBoundsException.class)
        .hasMessageContainingAll("3 elements, but FLOAT[2] at byte 4 of", "'short'", "takes 2");
    assertThatThrownBy(() -> buffer.slice(1, 2).copyTo(new float[1]))
        .isInstanceOf(IndexOutOfBoundsException.class)
        .hasMessageContainingAll("1 elements, but FLOAT[2] at byte 4 of", "'short'", "needs 2");
  }

  @Test
  @SuppressWarnings({"unchecked", "rawtypes"}) // that is the mistake
  void anArrayOfAnotherTypeIsToldWithTheCast() {
    UnifiedBuffer buffer = memory.allocate(ElementType.FLOAT, 4);
    String told =
        "elements of FLOAT are carried by float[], not by int[]; look for an unchecked cast of the"
            + " buffer or of its type";
    List.<ThrowingCallable>of(
            () -> buffer.copyFrom(new int[4]),
            () -> buffer.copyFrom(new int[4], 0, 0, 4),
            () -> buffer.copyFromAsync(new int[4]),
            () -> buffer.copyTo(new int[4]),
            () -> buffer.copyTo(0, new int[4], 0, 4),
            () -> buffer.copyToAsync(new int[4]),
            () -> buffer.fill(new int[] {1}))
        .forEach(
            mistake ->
                assertThatThrownBy(mistake)
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage(told));
  }

  @Test
  void aSliceOfAClosedBufferSaysThatItEndedWithTheBuffer() {
    UnifiedBuffer<float[]> buffer = memory.allocate(ElementType.FLOAT, 4);
    UnifiedBuffer<float[]> slice = buffer.slice(1, 2);
    buffer.close();
    assertThatThrownBy(() -> slice.copyTo(new float[2]))
        .isInstanceOf(IllegalStateException.class)
        .hasMessage(
            "buffer (FLOAT[4] in DEVICE) is closed, and so are its slices and views; allocate"
                + " another, or close it later");
  }

  @Test
  void aMappingThatAnotherThreadClosesSaysHowToMakeOneForAll() throws InterruptedException {
    AtomicReference<Throwable> thrown = new AtomicReference<>();
    try (UnifiedBuffer<float[]> buffer = memory.allocate(ElementType.FLOAT, 4);
        HostMapping mapping = buffer.map(MapMode.READ)) {
      Thread other = Thread.ofPlatform().start(() -> thrown.set(catchThrowable(mapping::close)));
      other.join();
      assertThat(thrown.get())
          .isInstanceOf(WrongThreadException.class)
          .hasMessageContainingAll("belongs to the thread that made it", "map(mode, true)");
      assertThat(mapping.segment().byteSize()).isEqualTo(16);
    }
  }

  @Test
  void aRangeOutOfBoundsIsToldWithWhatItIsOf() {
    UnifiedBuffer<float[]> buffer = memory.allocate(ElementType.FLOAT, 4, tagged());
    String range = "2 elements from element 3 on are out of bounds of buffer 'short' (FLOAT[4] in";
    assertThatThrownBy(() -> buffer.slice(3, 2))
        .isInstanceOf(IndexOutOfBoundsException.class)
        .hasMessageStartingWith(range);
    assertThatThrownBy(() -> buffer.copyTo(3, new float[2], 0, 2))
        .isInstanceOf(IndexOutOfBoundsException.class)
        .hasMessageStartingWith(range);
    assertThatThrownBy(() -> buffer.copyFrom(MemorySegment.ofArray(new float[2]), 3))
        .isInstanceOf(IndexOutOfBoundsException.class)
        .hasMessageStartingWith(range);
    assertThatThrownBy(() -> buffer.slice(1, 2).slice(-1, 1))
        .isInstanceOf(IndexOutOfBoundsException.class)
        .hasMessageContainingAll("1 elements from element -1", "FLOAT[2] at byte 4 of", "'short'");
    assertThatThrownBy(() -> buffer.slice(Long.MAX_VALUE, Long.MAX_VALUE))
        .isInstanceOf(IndexOutOfBoundsException.class);
    assertThatThrownBy(() -> buffer.slice(0, -1)).isInstanceOf(IndexOutOfBoundsException.class);
  }

  /** A record within a record. */
  public record Inner(short value) {}

  /** One that may lack its inner one. */
  public record Outer(long id, Inner inner) {}

  @Test
  void aRecordThatIsMissingIsToldWithItsPlace() {
    ElementType<Outer[]> type = ElementType.struct(Outer.class);
    UnifiedBuffer<Outer[]> buffer = memory.allocate(type, 3);
    Outer whole = new Outer(1, new Inner((short) 2));
    for (Outer hole : new Outer[] {null, new Outer(1, null)}) {
      Outer[] array = {whole, hole, whole};
      assertThatThrownBy(() -> buffer.copyFrom(array))
          .isInstanceOf(NullPointerException.class)
          .hasMessageStartingWith("element 1 of the array of records is null, one of its");
      TransferReport report =
          memory
              .transfers()
              .transfer(List.of(Transfer.of(array, buffer)), TransferOptions.defaults());
      assertThatThrownBy(report::orThrow)
          .hasMessageContaining("transfer 1 of 1: element 1 of the array of records is null");
    }
  }

  private static Allocation tagged() {
    return Allocation.at(MemoryLocation.DEVICE).tag("short");
  }

  @Test
  void aFileThatCannotBeMappedSaysWhy(@TempDir Path folder) {
    assertThatThrownBy(() -> memory.map(folder.resolve("no"), ElementType.INT, MapMode.READ))
        .isInstanceOf(TransferException.class)
        .hasMessageEndingWith("no: no such file or folder");
    assertThatThrownBy(() -> memory.map(folder, ElementType.INT, MapMode.READ))
        .isInstanceOf(TransferException.class)
        .hasMessageEndingWith(": it is a folder; name a file");
    Path root = folder.getRoot();
    assertThatThrownBy(() -> memory.map(root, ElementType.INT, MapMode.READ))
        .isInstanceOf(TransferException.class)
        .hasMessage("cannot map " + root + ": it is a folder; name a file");
  }

  @Test
  void aFileThatIsNotMadeOfElementsIsNamedWithItsBytes(@TempDir Path folder) throws IOException {
    Path file = Files.write(folder.resolve("three"), new byte[3]);
    assertThatThrownBy(() -> memory.map(file, ElementType.FLOAT, MapMode.READ))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage(
            file
                + " has 3 bytes, which are no whole number of FLOAT elements of 4 bytes; name the"
                + " type that it holds");
  }

  @Test
  void aPipeOrADeviceIsNotMapped(@TempDir Path folder) throws Exception {
    Path pipe = folder.resolve("pipe");
    try {
      assumeThat(new ProcessBuilder("mkfifo", pipe.toString()).start().waitFor()).isZero();
    } catch (IOException e) {
      abort("no pipes with names: " + e);
    }
    for (Path file : List.of(pipe, Path.of("/dev/null"))) {
      for (MapMode mode : List.of(MapMode.READ, MapMode.READ_WRITE)) {
        assertThatThrownBy(() -> memory.map(file, ElementType.INT, mode))
            .isInstanceOf(TransferException.class)
            .hasMessageEndingWith(file.getFileName() + ": it is no regular file; name a file");
      }
    }
  }

  @Test
  void aBufferWhoseArenaWasClosedSaysSo() {
    Arena arena = Arena.ofShared();
    UnifiedBuffer<float[]> buffer = memory.wrap(ElementType.FLOAT, arena.allocate(64, 8));
    UnifiedBuffer<float[]> other = memory.allocate(ElementType.FLOAT, 16);
    Kernel kernel = memory.compile(KernelSource.elementwise("y = x + 1"));
    arena.close();
    Map<String, ThrowingCallable> uses = new LinkedHashMap<>();
    uses.put("copy in", () -> buffer.copyFrom(new float[1]));
    uses.put("copy out", () -> buffer.copyTo(new float[16]));
    uses.put("copy on", () -> other.copyFrom(buffer));
    uses.put("view", buffer::asSegment);
    uses.put("map", () -> buffer.map(MapMode.READ));
    uses.put("fill", () -> buffer.fill((byte) 0));
    uses.put("kernel", () -> kernel.execute(Arguments.of("x", buffer, "y", other)));
    uses.forEach(
        (use, action) ->
            assertThatThrownBy(action)
                .as(use)
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("'wrapped'")
                .hasMessageContaining("its arena was closed"));
    assertThatCode(buffer::close).doesNotThrowAnyException();
    other.close();
    assertThat(memory.statistics().activeBuffers()).isZero();
  }
}

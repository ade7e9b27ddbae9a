package dev.tidepool.testkit.conformance;

import static dev.tidepool.BufferState.DEVICE_DIRTY;
import static dev.tidepool.BufferState.DEVICE_ONLY;
import static dev.tidepool.BufferState.HOST_DIRTY;
import static dev.tidepool.BufferState.HOST_ONLY;
import static dev.tidepool.BufferState.SYNCHRONIZED;
import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.Arguments;
import dev.tidepool.BufferState;
import dev.tidepool.ElementType;
import dev.tidepool.HostMapping;
import dev.tidepool.MapMode;
import dev.tidepool.MemoryLocation;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.transfer.TransferStatistics;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/**
 * Every cell of the state table, reached from every possible location: the new state, the
 * transferred bytes, and the contents.
 */
public abstract class CoherenceConformance extends Topic {
  private static final int LENGTH = 3000;
  private static final long BYTES = 4L * LENGTH;
  private static final int PART_AT = 1001;
  private static final int PART = 500;

  /** The transfer: none, or everything that is newer on the other side. */
  private enum Move {
    NOTHING,
    FETCH,
    PUSH
  }

  private record Cell(Move move, BufferState after) {}

  /** A buffer in a state, and its expected contents. */
  @SuppressWarnings("ArrayRecordComponent") // never compared
  private record Scene(UnifiedBuffer<float[]> buffer, float[] model) {}

  /** An access of a row of the table, which changes the model in the same way. */
  private interface Access {
    void run(Scene scene);
  }

  private static Cell cell(Move move, BufferState after) {
    return new Cell(move, after);
  }

  private static Map<BufferState, Cell> row(
      Cell hostOnly, Cell deviceOnly, Cell synchronizedCell, Cell hostDirty, Cell deviceDirty) {
    Map<BufferState, Cell> row = new EnumMap<>(BufferState.class);
    row.put(HOST_ONLY, hostOnly);
    row.put(DEVICE_ONLY, deviceOnly);
    row.put(SYNCHRONIZED, synchronizedCell);
    row.put(HOST_DIRTY, hostDirty);
    row.put(DEVICE_DIRTY, deviceDirty);
    return row;
  }

  private static final Map<BufferState, Cell> HOST_READS =
      row(
          cell(Move.NOTHING, HOST_ONLY),
          cell(Move.FETCH, SYNCHRONIZED),
          cell(Move.NOTHING, SYNCHRONIZED),
          cell(Move.NOTHING, HOST_DIRTY),
          cell(Move.FETCH, SYNCHRONIZED));
  private static final Map<BufferState, Cell> HOST_WRITES =
      row(
          cell(Move.NOTHING, HOST_ONLY),
          cell(Move.FETCH, HOST_DIRTY),
          cell(Move.NOTHING, HOST_DIRTY),
          cell(Move.NOTHING, HOST_DIRTY),
          cell(Move.FETCH, HOST_DIRTY));
  private static final Map<BufferState, Cell> HOST_WRITES_ALL =
      row(
          cell(Move.NOTHING, HOST_ONLY),
          cell(Move.NOTHING, HOST_DIRTY),
          cell(Move.NOTHING, HOST_DIRTY),
          cell(Move.NOTHING, HOST_DIRTY),
          cell(Move.NOTHING, HOST_DIRTY));
  private static final Map<BufferState, Cell> DEVICE_READS =
      row(
          cell(Move.PUSH, SYNCHRONIZED),
          cell(Move.NOTHING, DEVICE_ONLY),
          cell(Move.NOTHING, SYNCHRONIZED),
          cell(Move.PUSH, SYNCHRONIZED),
          cell(Move.NOTHING, DEVICE_DIRTY));
  private static final Map<BufferState, Cell> DEVICE_WRITES_PART =
      row(
          cell(Move.PUSH, DEVICE_DIRTY),
          cell(Move.NOTHING, DEVICE_ONLY),
          cell(Move.NOTHING, DEVICE_DIRTY),
          cell(Move.PUSH, DEVICE_DIRTY),
          cell(Move.NOTHING, DEVICE_DIRTY));
  private static final Map<BufferState, Cell> DEVICE_WRITES_ALL =
      row(
          cell(Move.NOTHING, DEVICE_DIRTY),
          cell(Move.NOTHING, DEVICE_ONLY),
          cell(Move.NOTHING, DEVICE_DIRTY),
          cell(Move.NOTHING, DEVICE_DIRTY),
          cell(Move.NOTHING, DEVICE_DIRTY));

  @TestFactory
  List<DynamicTest> aReadOnlySegmentIsAHostRead() {
    return cells(HOST_READS, scene -> checkHost(scene, scene.buffer().asReadOnlySegment()));
  }

  @TestFactory
  List<DynamicTest> aReadingMappingIsAHostRead() {
    return cells(
        HOST_READS,
        scene -> {
          try (HostMapping mapping = scene.buffer().map(MapMode.READ)) {
            checkHost(scene, mapping.segment());
          }
        });
  }

  @TestFactory
  List<DynamicTest> aSegmentIsAHostWrite() {
    return cells(HOST_WRITES, scene -> rewrite(scene, scene.buffer().asSegment(), 100));
  }

  @TestFactory
  List<DynamicTest> aReadingAndWritingMappingIsAHostWrite() {
    return cells(
        HOST_WRITES,
        scene -> {
          try (HostMapping mapping = scene.buffer().map(MapMode.READ_WRITE)) {
            checkHost(scene, mapping.segment());
            rewrite(scene, mapping.segment(), 100);
          }
        });
  }

  @TestFactory
  List<DynamicTest> aWritingMappingOfAllFetchesNothing() {
    return cells(
        HOST_WRITES_ALL,
        scene -> {
          try (HostMapping mapping = scene.buffer().map(MapMode.WRITE)) {
            rewrite(scene, mapping.segment(), LENGTH);
          }
        });
  }

  @TestFactory
  List<DynamicTest> aKernelsInputIsADeviceRead() {
    return cells(
        DEVICE_READS,
        scene -> {
          try (UnifiedBuffer<float[]> out =
              memory().allocate(ElementType.FLOAT, LENGTH, MemoryLocation.DEVICE)) {
            bench().kernel("y = x").execute(Arguments.of("x", scene.buffer(), "y", out));
            // read on the device again, so that the check transfers nothing of the scene's buffer
            assertThat(out.state()).isEqualTo(DEVICE_ONLY);
          }
        });
  }

  @TestFactory
  List<DynamicTest> aKernelsOutputInASliceIsADeviceWriteOfAPart() {
    return cells(
        DEVICE_WRITES_PART,
        scene -> {
          try (UnifiedBuffer<float[]> slice = scene.buffer().slice(PART_AT, PART)) {
            bench().kernel("y = a").execute(Arguments.of("a", 8.5, "y", slice));
          }
          Arrays.fill(scene.model(), PART_AT, PART_AT + PART, 8.5f);
        });
  }

  @TestFactory
  List<DynamicTest> aKernelsOutputIsADeviceWriteOfAll() {
    return cells(
        DEVICE_WRITES_ALL,
        scene -> {
          bench().kernel("y = a").execute(Arguments.of("a", 9.5, "y", scene.buffer()));
          Arrays.fill(scene.model(), 9.5f);
        });
  }

  @TestFactory
  List<DynamicTest> whatAKernelReadsAndWritesIsPushedFirst() {
    Map<BufferState, Cell> readAndWritten = new EnumMap<>(DEVICE_WRITES_PART);
    return cells(
        readAndWritten,
        scene -> {
          bench().kernel("y = y + 1").execute(Arguments.of("y", scene.buffer()));
          for (int i = 0; i < LENGTH; i++) {
            scene.model()[i] += 1;
          }
        });
  }

  @TestFactory
  List<DynamicTest> aCopyFromAnArrayIsAnAccessOnTheNewestSide() {
    return scenes(
        (location, state) -> {
          Scene scene = scene(location, state);
          TransferStatistics before = bench().moved();
          scene.buffer().copyFrom(pattern(PART, 40), 0, PART_AT, PART);
          TransferStatistics after = bench().moved();
          System.arraycopy(pattern(PART, 40), 0, scene.model(), PART_AT, PART);
          if (state == SYNCHRONIZED) {
            assertThat(scene.buffer().state()).isIn(HOST_DIRTY, DEVICE_DIRTY);
          } else {
            assertThat(scene.buffer().state()).isEqualTo(state);
          }
          boolean onHost =
              bench().hasOneCopy(location) || state == HOST_ONLY || state == HOST_DIRTY;
          long pushed = after.hostToDeviceBytes() - before.hostToDeviceBytes();
          if (state != SYNCHRONIZED || onHost) {
            assertThat(pushed).isEqualTo(onHost ? 0 : 4L * PART);
          }
          assertThat(after.deviceToHostBytes()).isEqualTo(before.deviceToHostBytes());
          Patterns.assertEqual(contents(scene.buffer()), scene.model(), "after the copy");
        });
  }

  @TestFactory
  List<DynamicTest> aCopyToAnArrayReadsTheNewestSideAndChangesNothing() {
    return scenes(
        (location, state) -> {
          Scene scene = scene(location, state);
          TransferStatistics before = bench().moved();
          float[] part = new float[PART];
          scene.buffer().copyTo(PART_AT, part, 0, PART);
          TransferStatistics after = bench().moved();
          Patterns.assertEqual(
              part,
              Patterns.range(ElementType.FLOAT, scene.model(), PART_AT, PART_AT + PART),
              "the newest bytes");
          assertThat(scene.buffer().state()).isEqualTo(state);
          boolean fetched =
              !bench().hasOneCopy(location) && (state == DEVICE_ONLY || state == DEVICE_DIRTY);
          assertThat(after.deviceToHostBytes() - before.deviceToHostBytes())
              .isEqualTo(fetched ? 4L * PART : 0);
          assertThat(after.hostToDeviceBytes()).isEqualTo(before.hostToDeviceBytes());
        });
  }

  @TestFactory
  List<DynamicTest> synchronizingMakesBothSidesValid() {
    return scenes(
        (location, state) -> {
          Scene scene = scene(location, state);
          scene.buffer().synchronize();
          assertThat(scene.buffer().state()).isEqualTo(SYNCHRONIZED);
          TransferStatistics before = bench().moved();
          checkHost(scene, scene.buffer().asReadOnlySegment());
          checkDevice(scene);
          assertThat(bench().moved().hostToDeviceBytes()).isEqualTo(before.hostToDeviceBytes());
        });
  }

  @TestFactory
  List<DynamicTest> prefetchingBringsTheBytesAheadOfTheAccess() {
    return scenes(
        (location, state) -> {
          Scene scene = scene(location, state);
          scene.buffer().prefetchToDevice();
          memory().synchronize();
          assertThat(scene.buffer().state())
              .isEqualTo(Objects.requireNonNull(DEVICE_READS.get(state)).after());
          checkDevice(scene);
          scene.buffer().prefetchToHost();
          memory().synchronize();
          TransferStatistics before = bench().moved();
          checkHost(scene, scene.buffer().asReadOnlySegment());
          assertThat(bench().moved().deviceToHostBytes()).isEqualTo(before.deviceToHostBytes());
        });
  }

  private List<DynamicTest> cells(Map<BufferState, Cell> row, Access access) {
    return scenes(
        (location, state) -> {
          Scene scene = scene(location, state);
          Cell cell = Objects.requireNonNull(row.get(state));
          TransferStatistics before = bench().moved();
          access.run(scene);
          BufferState after = scene.buffer().state();
          TransferStatistics moved = bench().moved();
          assertThat(after).isEqualTo(cell.after());
          boolean travels = !bench().hasOneCopy(location);
          long fetched = moved.deviceToHostBytes() - before.deviceToHostBytes();
          long pushed = moved.hostToDeviceBytes() - before.hostToDeviceBytes();
          assertThat(fetched).isEqualTo(travels && cell.move() == Move.FETCH ? BYTES : 0);
          if (travels && cell.move() == Move.PUSH) {
            // bytes that the device is about to overwrite need not be transferred
            assertThat(pushed).isBetween(BYTES - 4L * PART, BYTES);
          } else {
            assertThat(pushed).isZero();
          }
          Patterns.assertEqual(contents(scene.buffer()), scene.model(), "on the newest side");
          checkDevice(scene);
          checkHost(scene, scene.buffer().asReadOnlySegment());
        });
  }

  /** A test of one state, reached from one location. */
  private interface SceneTest {
    void run(MemoryLocation location, BufferState state);
  }

  private List<DynamicTest> scenes(SceneTest test) {
    List<DynamicTest> tests = new ArrayList<>();
    for (MemoryLocation location : bench().locations()) {
      for (BufferState state : BufferState.values()) {
        boolean reachable =
            switch (location) {
              case DEVICE -> state != HOST_ONLY;
              case HOST, PINNED -> state != DEVICE_ONLY;
              case UNIFIED -> state != HOST_ONLY && state != DEVICE_ONLY;
            };
        if (reachable) {
          tests.add(
              DynamicTest.dynamicTest(
                  state + " of a " + location + " buffer", () -> test.run(location, state)));
        }
      }
    }
    return tests;
  }

  /** Returns a buffer in a state, filled with a pattern; a dirty buffer is completely dirty. */
  private Scene scene(MemoryLocation location, BufferState state) {
    UnifiedBuffer<float[]> buffer = patterned(LENGTH, location, 1);
    Scene scene = new Scene(buffer, pattern(LENGTH, 1));
    switch (state) {
      case HOST_ONLY, DEVICE_ONLY -> {}
      case SYNCHRONIZED -> buffer.synchronize();
      case HOST_DIRTY -> {
        buffer.synchronize();
        rewrite(scene, buffer.asSegment(), LENGTH);
      }
      case DEVICE_DIRTY -> {
        buffer.synchronize();
        bench().kernel("y = y * 2").execute(Arguments.of("y", buffer));
        for (int i = 0; i < LENGTH; i++) {
          scene.model()[i] *= 2;
        }
      }
    }
    assertThat(buffer.state()).as("the state to start from").isEqualTo(state);
    return scene;
  }

  private static void rewrite(Scene scene, MemorySegment segment, int count) {
    float[] fresh = pattern(count, 60);
    ElementType.FLOAT.write(fresh, 0, segment, 0, count);
    System.arraycopy(fresh, 0, scene.model(), 0, count);
  }

  private static void checkHost(Scene scene, MemorySegment segment) {
    Patterns.assertEqual(
        contents(ElementType.FLOAT, segment), scene.model(), "as the host sees it");
  }

  /** Checks the contents that the device sees. */
  private void checkDevice(Scene scene) {
    try (UnifiedBuffer<float[]> out =
        memory().allocate(ElementType.FLOAT, LENGTH, MemoryLocation.DEVICE)) {
      bench().kernel("y = x").execute(Arguments.of("x", scene.buffer(), "y", out));
      Patterns.assertEqual(contents(out), scene.model(), "as the device sees it");
    }
  }
}

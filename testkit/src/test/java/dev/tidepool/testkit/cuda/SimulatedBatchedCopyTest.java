package dev.tidepool.testkit.cuda;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** {@code cuMemcpyBatchAsync}, and how programs find it. */
class SimulatedBatchedCopyTest {
  private static final int STREAM_ORDER = 1;
  private static final int DURING_CALL = 2;
  private static final int ANY = 3;
  private static final long NONE = -1;

  private final SimulatedCuda simulation = SimulatedCuda.orSkip();
  private final Arena arena = Arena.ofConfined();
  private Driver cuda;
  private long stream;
  private long memory;
  private MemorySegment pinned;
  private MemorySegment failed;

  @BeforeEach
  void oneDevice() {
    cuda = Driver.with(simulation, 1);
    stream = cuda.stream();
    memory = cuda.allocate(64);
    pinned = cuda.pinned(64);
    failed = arena.allocate(JAVA_LONG);
  }

  @AfterEach
  void close() {
    arena.close();
  }

  private MemorySegment longs(long... values) {
    return arena.allocateFrom(JAVA_LONG, values);
  }

  private MemorySegment attributes(int... orders) {
    MemorySegment attributes = arena.allocate(24L * orders.length, 8);
    for (int i = 0; i < orders.length; i++) {
      attributes.set(JAVA_INT, 24L * i, orders[i]);
    }
    return attributes;
  }

  /** Copies of 8 bytes each. */
  private int copies(long[] to, long[] from, MemorySegment attributes, long... firstCopies) {
    long[] sizes = new long[to.length];
    Arrays.fill(sizes, 8);
    return cuda.call(
        cuda.entryPoint("cuMemcpyBatchAsync", 12080),
        longs(to),
        longs(from),
        longs(sizes),
        (long) to.length,
        attributes,
        longs(firstCopies),
        (long) firstCopies.length,
        failed,
        stream);
  }

  private int twoUp(MemorySegment attributes, long... firstCopies) {
    long host = pinned.address();
    return copies(
        new long[] {memory + 32, memory}, new long[] {host, host + 16}, attributes, firstCopies);
  }

  private void assertRefused(int code, String violation) {
    assertThat(code).isEqualTo(Driver.INVALID_VALUE);
    assertThat(simulation.violations()).singleElement().asString().contains(violation);
  }

  @Test
  void aProgramGetsTheVersionThatItWasMadeFor() {
    long first = cuda.entryPoint("cuMemcpyBatchAsync", 12080).address();
    assertThat(cuda.entryPoint("cuMemcpyBatchAsync", 12090).address()).isEqualTo(first);
    assertThat(cuda.entryPoint("cuMemcpyBatchAsync", 13000).address())
        .isNotZero()
        .isNotEqualTo(first);
    MemorySegment status = arena.allocate(JAVA_INT);
    MemorySegment name = Driver.text(arena, "cuMemcpyBatchAsync");
    assertThat(cuda.entryPoint(name, 12040, status)).isZero();
    assertThat(status.get(JAVA_INT, 0)).isEqualTo(2); // the version is not sufficient
    assertThat(cuda.entryPoint(Driver.text(arena, "cuNothing"), 12080, status)).isZero();
    assertThat(status.get(JAVA_INT, 0)).isEqualTo(1); // not found
  }

  @Test
  void aDriverAnswersForNoVersionBeyondItsOwn() {
    simulation.setAll("driver_version", 12040);
    assertThat(
            cuda.call(
                "cuGetProcAddress_v2",
                Driver.text(arena, "cuMemcpyBatchAsync"),
                arena.allocate(JAVA_LONG),
                12080,
                0L,
                MemorySegment.NULL))
        .isEqualTo(Driver.INVALID_VALUE);
  }

  @Test
  void aBatchGoesToItsPlacesInTheStreamsOrder() {
    Gate gate = Gate.closed(cuda, stream);
    assertThat(twoUp(attributes(STREAM_ORDER), 0)).isZero();
    // Only now are the bytes there: the sources are read when the stream comes to them.
    MemorySegment.copy(Driver.pattern(64), 0, pinned, JAVA_BYTE, 0, 64);
    gate.open();
    cuda.synchronize(stream);
    byte[] arrived = cuda.read(memory, 64);
    assertThat(Arrays.copyOfRange(arrived, 32, 40)).isEqualTo(Arrays.copyOf(Driver.pattern(64), 8));
    assertThat(Arrays.copyOf(arrived, 8)).isEqualTo(Arrays.copyOfRange(Driver.pattern(64), 16, 24));
    assertThat(failed.get(JAVA_LONG, 0)).isEqualTo(NONE);
    assertThat(simulation.violations()).isEmpty();
    assertThat(simulation.calls("cuMemcpyBatchAsync")).isEqualTo(1);
  }

  @Test
  void theLaterVersionHasNoPlaceForTheNumberThatFails() {
    MemorySegment.copy(Driver.pattern(64), 0, pinned, JAVA_BYTE, 0, 64);
    assertThat(
            cuda.call(
                cuda.entryPoint("cuMemcpyBatchAsync", 13000),
                longs(memory),
                longs(pinned.address()),
                longs(64),
                1L,
                attributes(STREAM_ORDER),
                longs(0),
                1L,
                stream))
        .isZero();
    cuda.synchronize(stream);
    assertThat(cuda.read(memory, 64)).isEqualTo(Driver.pattern(64));
    assertThat(simulation.calls("cuMemcpyBatchAsync_v2")).isEqualTo(1);
  }

  @Test
  void sourcesInNoOrderAreReadBeforeTheStreamComesToThem() {
    pinned.fill((byte) 1);
    Gate gate = Gate.closed(cuda, stream);
    assertThat(twoUp(attributes(ANY, STREAM_ORDER), 0, 1)).isZero();
    pinned.fill((byte) 2);
    gate.open();
    cuda.synchronize(stream);
    byte[] arrived = cuda.read(memory, 64);
    assertThat(Arrays.copyOfRange(arrived, 32, 40)).containsOnly(1);
    assertThat(Arrays.copyOf(arrived, 8)).containsOnly(2);
  }

  @ParameterizedTest
  @CsvSource({DURING_CALL + "", ANY + ""})
  void memoryOfADeviceIsReadInTheStreamsOrderOnly(int order) {
    copies(new long[] {pinned.address()}, new long[] {memory}, attributes(order), 0);
    cuda.synchronize(stream);
    assertThat(simulation.violations())
        .singleElement()
        .asString()
        .contains("out of the stream's order");
  }

  @Test
  void theFirstAttributesBeginAtTheFirstCopy() {
    assertRefused(twoUp(attributes(STREAM_ORDER), 1), "begin at copy 1, not at 0");
  }

  @Test
  void theNumbersOfAttributesAscend() {
    assertRefused(
        twoUp(attributes(STREAM_ORDER, STREAM_ORDER), 0, 0), "which is not behind copy 0");
  }

  @Test
  void attributesBeginAtACopyThatThereIs() {
    assertRefused(twoUp(attributes(STREAM_ORDER, STREAM_ORDER), 0, 2), "begin at copy 2 of 2");
  }

  @Test
  void thereAreNoMoreAttributesThanCopiesAndAtLeastOne() {
    assertRefused(twoUp(attributes(1, 1, 1), 0, 1, 2), "3 attributes for 2 copies");
    simulation.forget();
    assertRefused(twoUp(attributes(STREAM_ORDER)), "0 attributes for 2 copies");
  }

  @Test
  void theSourceOrderIsOneOfThree() {
    assertRefused(twoUp(attributes(0), 0), "source order 0");
    simulation.forget();
    assertRefused(twoUp(attributes(4), 0), "source order 4");
  }

  @Test
  void flagsAreKnown() {
    MemorySegment attributes = attributes(STREAM_ORDER);
    attributes.set(JAVA_INT, 20, 2);
    assertRefused(twoUp(attributes, 0), "flags 2");
  }

  @Test
  void aBatchHasACopy() {
    assertRefused(copies(new long[0], new long[0], attributes(STREAM_ORDER), 0), "of no copies");
  }

  @Test
  void noArrayIsNull() {
    assertRefused(twoUp(MemorySegment.NULL, 0), "an array is null");
    simulation.forget();
    failed = MemorySegment.NULL;
    assertRefused(twoUp(attributes(STREAM_ORDER), 0), "no place for the number");
  }

  @Test
  void aDefaultStreamIsRefused() {
    stream = 0;
    assertThat(twoUp(attributes(STREAM_ORDER), 0)).isEqualTo(Driver.INVALID_HANDLE);
    stream = 1;
    assertThat(twoUp(attributes(STREAM_ORDER), 0)).isEqualTo(Driver.INVALID_HANDLE);
    assertThat(simulation.violations()).hasSize(2).allMatch(v -> v.contains("default stream"));
  }

  @Test
  void copiesOfABatchDoNotOverlap() {
    long host = pinned.address();
    long[] apart = {host, host + 8};
    assertRefused(
        copies(new long[] {memory, memory + 7}, apart, attributes(STREAM_ORDER), 0), "overlap");
    simulation.forget();
    assertRefused(
        copies(
            new long[] {memory, host + 16},
            new long[] {host + 16, host + 24},
            attributes(STREAM_ORDER),
            0),
        "overlap");
  }

  @Test
  void theNumberOfACopyOutOfBoundsIsTold() {
    long host = pinned.address();
    int code =
        copies(
            new long[] {memory, memory + 60, memory + 16},
            new long[] {host, host + 8, host + 16},
            attributes(STREAM_ORDER),
            0);
    assertRefused(code, "beyond the end");
    assertThat(failed.get(JAVA_LONG, 0)).isEqualTo(1);
  }

  @Test
  void aFailureMidwayLeavesTheCopiesBeforeIt() {
    pinned.fill((byte) 3);
    simulation.fail("batched_copy", 2, Driver.NOT_SUPPORTED);
    assertThat(twoUp(attributes(STREAM_ORDER), 0)).isEqualTo(Driver.NOT_SUPPORTED);
    assertThat(failed.get(JAVA_LONG, 0)).isEqualTo(1);
    cuda.synchronize(stream);
    byte[] arrived = cuda.read(memory, 64);
    assertThat(Arrays.copyOfRange(arrived, 32, 40)).containsOnly(3);
    assertThat(Arrays.copyOf(arrived, 8)).containsOnly((byte) 0xA5);
    assertThat(simulation.violations()).isEmpty();
  }
}

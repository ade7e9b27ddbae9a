package dev.tidepool.testkit.cuda;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class SimulatedStreamsTest {
  private final SimulatedCuda simulation = SimulatedCuda.orSkip();
  private Driver cuda;

  @BeforeEach
  void oneDevice() {
    cuda = Driver.with(simulation, 1);
  }

  @Test
  void aStreamWorksBehindTheCallersBackAndInOrder() {
    long stream = cuda.stream();
    long memory = cuda.allocate(4);
    Gate gate = Gate.closed(cuda, stream);
    cuda.must("cuMemsetD32Async", memory, 1, 1L, stream);
    cuda.must("cuMemsetD32Async", memory, 2, 1L, stream);
    assertThat(cuda.call("cuStreamQuery", stream)).isEqualTo(Driver.NOT_READY);
    assertThat(cuda.read(memory, 4)).containsOnly((byte) 0xA5); // another stream is not held up
    gate.open();
    cuda.synchronize(stream);
    assertThat(cuda.call("cuStreamQuery", stream)).isZero();
    assertThat(cuda.read(memory, 4)).containsExactly(2, 0, 0, 0);
  }

  @Test
  void aStreamWaitsForWhatTheEventMeantWhenItWasAsked() {
    AtomicInteger order = new AtomicInteger();
    long first = cuda.stream();
    long second = cuda.stream();
    long event = cuda.event();
    assertThat(cuda.call("cuEventQuery", event)).isZero(); // never recorded
    Gate gate = Gate.closed(cuda, first);
    Gate.run(cuda, first, () -> order.compareAndSet(0, 1));
    cuda.must("cuEventRecord", event, first);
    cuda.must("cuStreamWaitEvent", second, event, 0);
    Gate.run(cuda, second, () -> order.compareAndSet(1, 2));
    assertThat(cuda.call("cuEventQuery", event)).isEqualTo(Driver.NOT_READY);
    cuda.must("cuEventDestroy_v2", event); // its moment lives on
    gate.open();
    cuda.synchronize(second);
    assertThat(order).hasValue(2);
    assertThat(simulation.violations()).isEmpty();
  }

  @Test
  void anEventThatIsPendingIsNotRecordedAgain() {
    long stream = cuda.stream();
    long event = cuda.event();
    Gate gate = Gate.closed(cuda, stream);
    cuda.must("cuEventRecord", event, stream);
    cuda.must("cuEventRecord", event, stream);
    gate.open();
    cuda.must("cuEventSynchronize", event);
    assertThat(simulation.violations()).singleElement().asString().contains("recorded again");
  }

  @Test
  void eventsTellHowLongWorkTook() {
    simulation.set(0, "latency_ns", 3_000_000);
    long stream = cuda.stream();
    long memory = cuda.allocate(4);
    long[] events = {cuda.get("cuEventCreate", 0), cuda.get("cuEventCreate", 0)};
    cuda.must("cuEventRecord", events[0], stream);
    cuda.must("cuMemsetD32Async", memory, 1, 1L, stream);
    cuda.must("cuEventRecord", events[1], stream);
    cuda.must("cuEventSynchronize", events[1]);
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment milliseconds = arena.allocate(ValueLayout.JAVA_FLOAT);
      cuda.must("cuEventElapsedTime", milliseconds, events[0], events[1]);
      assertThat(milliseconds.get(ValueLayout.JAVA_FLOAT, 0)).isGreaterThanOrEqualTo(3);
      assertThat(cuda.call("cuEventElapsedTime", milliseconds, events[0], cuda.event()))
          .isEqualTo(Driver.INVALID_HANDLE); // without timing
    }
  }

  @Test
  void aLinkMovesOnlySoManyBytesASecond() {
    simulation.set(0, "host_to_device", 1_000_000_000);
    long memory = cuda.allocate(2_000_000);
    MemorySegment pinned = cuda.pinned(2_000_000);
    long one = cuda.stream();
    long other = cuda.stream();
    long begin = System.nanoTime();
    cuda.must("cuMemcpyHtoDAsync_v2", memory, pinned, 2_000_000L, one);
    cuda.must("cuMemcpyHtoDAsync_v2", memory, pinned, 2_000_000L, other);
    cuda.must("cuCtxSynchronize");
    assertThat(System.nanoTime() - begin).isGreaterThanOrEqualTo(4_000_000); // both share the link
  }

  @Test
  void prioritiesAreKeptInTheDriversRange() {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment range = arena.allocate(ValueLayout.JAVA_INT, 2);
      cuda.must("cuCtxGetStreamPriorityRange", range, range.asSlice(4));
      assertThat(range.toArray(ValueLayout.JAVA_INT)).containsExactly(0, -5);
      for (int[] wishAndPriority : new int[][] {{-3, -3}, {-9, -5}, {7, 0}}) {
        long stream = cuda.get("cuStreamCreateWithPriority", 1, wishAndPriority[0]);
        cuda.must("cuStreamGetPriority", stream, range);
        assertThat(range.get(ValueLayout.JAVA_INT, 0)).isEqualTo(wishAndPriority[1]);
      }
    }
  }

  @Test
  void aDestroyedStreamStillDoesItsWorkButTakesNoMore() {
    long stream = cuda.stream();
    long memory = cuda.allocate(4);
    Gate gate = Gate.closed(cuda, stream);
    cuda.must("cuMemsetD32Async", memory, 7, 1L, stream);
    cuda.must("cuStreamDestroy_v2", stream);
    assertThat(cuda.call("cuMemsetD32Async", memory, 8, 1L, stream))
        .isEqualTo(Driver.INVALID_HANDLE);
    gate.open();
    cuda.must("cuCtxSynchronize");
    assertThat(cuda.read(memory, 4)).containsExactly(7, 0, 0, 0);
    assertThat(simulation.violations()).singleElement().asString().contains("destroyed");
  }

  @Test
  void theDefaultStreamIsRefused() {
    long memory = cuda.allocate(4);
    assertThat(cuda.call("cuMemsetD32Async", memory, 8, 1L, 0L)).isEqualTo(Driver.INVALID_HANDLE);
    assertThat(simulation.violations()).singleElement().asString().contains("default stream");
  }

  @Test
  void hostFunctionsMustNotCallTheDriver() {
    AtomicInteger answer = new AtomicInteger();
    long stream = cuda.stream();
    Gate.run(cuda, stream, () -> answer.set(cuda.call("cuStreamQuery", stream)));
    cuda.synchronize(stream);
    assertThat(answer).hasValue(Driver.NOT_PERMITTED);
    assertThat(simulation.violations()).singleElement().asString().contains("host function");
  }
}

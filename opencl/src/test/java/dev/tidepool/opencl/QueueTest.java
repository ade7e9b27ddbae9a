package dev.tidepool.opencl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.tidepool.AcceleratorException;
import dev.tidepool.spi.Block;
import dev.tidepool.spi.BlockKind;
import dev.tidepool.spi.Device;
import dev.tidepool.spi.Event;
import dev.tidepool.spi.Queue;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The order of commands, within a queue and between queues, and how their ends are told. */
@ExtendWith(NothingLeaks.class)
class QueueTest {
  private static final int SIZE = 1 << 16;

  @ParameterizedTest
  @EnumSource
  void commandsOfOneQueueHappenInOrder(MemoryMode mode) {
    try (Device device = mode.open();
        Queue queue = device.createQueue()) {
      Block block = device.allocate(SIZE, 64, BlockKind.DEVICE);
      Block other = device.allocate(SIZE, 64, BlockKind.DEVICE);
      for (int round = 0; round < 50; round++) {
        queue.fill(block, 0, SIZE, (byte) round).close();
        queue.copy(block, 0, other, 0, SIZE).close();
      }
      queue.finish();
      assertThat(Bytes.read(queue, other, 0, SIZE)).containsOnly(49);
      block.free();
      other.free();
    }
  }

  @ParameterizedTest
  @EnumSource
  void whatIsWrittenAndReadNowComesAfterWhatWasEnqueuedBefore(MemoryMode mode) {
    try (Device device = mode.open();
        Queue queue = device.createQueue();
        Arena arena = Arena.ofConfined()) {
      Block block = device.allocate(SIZE, 64, BlockKind.DEVICE);
      byte[] pattern = Bytes.pattern(SIZE - 100, 1);
      MemorySegment there = arena.allocateFrom(ValueLayout.JAVA_BYTE, pattern);
      MemorySegment back = arena.allocate(SIZE);
      queue.fill(block, 0, SIZE, (byte) 7).close();
      queue.writeNow(there, block, 100);
      there.fill((byte) 0);
      queue.writeNow(there.asSlice(0, 0), block, 0);
      queue.readNow(block, 0, back.asSlice(0, 0));
      queue.readNow(block, 0, back);
      byte[] expected = new byte[SIZE];
      Arrays.fill(expected, 0, 100, (byte) 7);
      System.arraycopy(pattern, 0, expected, 100, pattern.length);
      assertThat(back.toArray(ValueLayout.JAVA_BYTE)).isEqualTo(expected);
      block.free();
    }
  }

  @Test
  void whatIsRefusedNowSaysWhoRefusedItAndWhy() {
    try (Device device = MemoryMode.DISCRETE.open();
        Arena arena = Arena.ofConfined()) {
      Block block = device.allocate(64, 64, BlockKind.DEVICE);
      MemorySegment host = arena.allocate(64);
      Queue queue = device.createQueue();
      assertThatThrownBy(() -> queue.writeNow(host, block, 1 << 20))
          .isInstanceOf(AcceleratorException.class)
          .hasMessageContaining("clEnqueueWriteBuffer")
          .hasMessageContaining("CL_INVALID_VALUE");
      assertThatThrownBy(() -> queue.readNow(block, 1 << 20, host))
          .isInstanceOf(AcceleratorException.class)
          .hasMessageContaining("clEnqueueReadBuffer")
          .hasMessageContaining("CL_INVALID_VALUE");
      queue.close();
      assertThatThrownBy(() -> queue.writeNow(host, block, 0))
          .isInstanceOf(IllegalStateException.class)
          .hasMessageContaining("used after close");
      block.free();
    }
  }

  @ParameterizedTest
  @EnumSource
  void aQueueWaitsForTheEventOfAnother(MemoryMode mode) {
    try (Device device = mode.open();
        Queue first = device.createQueue();
        Queue second = device.createQueue()) {
      Block block = device.allocate(SIZE, 64, BlockKind.DEVICE);
      Block copy = device.allocate(SIZE, 64, BlockKind.DEVICE);
      for (int round = 0; round < 50; round++) {
        first.fill(block, 0, SIZE, (byte) 0).close();
        Event written = first.fill(block, 0, SIZE, (byte) (round + 1));
        second.after(written);
        written.close();
        Event copied = second.copy(block, 0, copy, 0, SIZE);
        first.after(copied);
        Bytes.await(copied);
        assertThat(Bytes.read(second, copy, 0, SIZE)).containsOnly(round + 1);
      }
      block.free();
      copy.free();
    }
  }

  @Test
  void anEventIsDoneWithoutAnybodyWaitingForIt() {
    try (Device device = Pocl.device(Map.of());
        Queue queue = device.createQueue()) {
      Block block = device.allocate(SIZE, 64, BlockKind.DEVICE);
      try (Event event = queue.fill(block, 0, SIZE, (byte) 1)) {
        await().until(event::isDone);
      }
      block.free();
    }
  }

  // PoCL 3.1 aborts the process when a command that others wait for fails, so none does here.
  @Test
  void aFailedCommandIsAnErrorWithTheNameOfItsCode() {
    try (Device device = Pocl.device(Map.of())) {
      Context context = ((OpenClDevice) device).context();
      long signal = UserEvent.create(context);
      try (OpenClEvent failing = new OpenClEvent(context, signal)) {
        assertThat(failing.isDone()).isFalse();
        UserEvent.end(signal, ErrorCodes.CL_OUT_OF_RESOURCES);
        assertThat(failing.isDone()).isTrue();
        assertThatThrownBy(failing::await)
            .isInstanceOfSatisfying(
                AcceleratorException.class,
                failure -> {
                  assertThat(failure.code()).isEqualTo(ErrorCodes.CL_OUT_OF_RESOURCES);
                  assertThat(failure.codeName()).isEqualTo("CL_OUT_OF_RESOURCES");
                });
      }
    }
  }

  @Test
  void anOperationOfSeveralCommandsFailsWhenAnyOfThemDid() {
    try (Device device = Pocl.device(Map.of())) {
      Context context = ((OpenClDevice) device).context();
      long first = UserEvent.create(context);
      long last = UserEvent.create(context);
      try (OpenClEvent both = new OpenClEvent(context, first, last)) {
        UserEvent.end(first, ErrorCodes.CL_OUT_OF_HOST_MEMORY);
        assertThat(both.isDone()).isFalse();
        UserEvent.end(last, OpenCL.CL_COMPLETE);
        assertThatThrownBy(both::await).hasMessageContaining("CL_OUT_OF_HOST_MEMORY");
      }
    }
  }

  @Test
  void awaitingAnEventThatAlreadyFailedHoldsNothingUp() {
    try (Device device = Pocl.device(Map.of());
        Queue queue = device.createQueue()) {
      Context context = ((OpenClDevice) device).context();
      long signal = UserEvent.create(context);
      UserEvent.end(signal, ErrorCodes.CL_OUT_OF_RESOURCES);
      Block block = device.allocate(SIZE, 64, BlockKind.DEVICE);
      try (OpenClEvent failed = new OpenClEvent(context, signal)) {
        queue.after(failed);
      }
      Bytes.await(queue.fill(block, 0, SIZE, (byte) 3));
      assertThat(Bytes.read(queue, block, 0, SIZE)).containsOnly(3);
      block.free();
    }
  }

  @Test
  void anEventMayBeClosedWhileAnotherThreadWaitsForIt() throws InterruptedException {
    try (Device device = Pocl.device(Map.of())) {
      Context context = ((OpenClDevice) device).context();
      long signal = UserEvent.create(context);
      OpenCL.clRetainEvent(signal);
      OpenClEvent event = new OpenClEvent(context, signal);
      Thread waiting = Thread.ofPlatform().start(event::await);
      await().until(() -> isWaiting(waiting));
      event.close();
      UserEvent.end(signal, OpenCL.CL_COMPLETE);
      OpenCL.clReleaseEvent(signal);
      waiting.join();
      assertThatThrownBy(event::await).isInstanceOf(IllegalStateException.class);
    }
  }

  private static boolean isWaiting(Thread thread) {
    return Arrays.stream(thread.getStackTrace())
        .anyMatch(frame -> frame.getMethodName().equals("clWaitForEvents"));
  }

  @Test
  void contextsWithNothingInCommonWaitForEachOtherAllTheSame() {
    try (Device device = Pocl.device(Map.of());
        Queue queue = device.createQueue()) {
      DeviceProperties properties = ((OpenClDevice) device).properties();
      Platform platform =
          new Platform(
              Installed.look().devices().getFirst().platform().handle(), List.of(properties));
      try (Device unrelated =
              OpenClDevice.open(
                  "opencl:99",
                  new Installed.Found(platform, properties),
                  new Settings(Settings.Svm.AUTO, true, false));
          Queue foreign = unrelated.createQueue()) {
        assertThat(device.copiesFrom(unrelated)).isFalse();
        Block block = unrelated.allocate(SIZE, 64, BlockKind.DEVICE);
        try (Event event = foreign.fill(block, 0, SIZE, (byte) 1)) {
          queue.after(event);
          queue.finish();
          assertThat(event.isDone()).isTrue();
        }
        assertThatThrownBy(() -> queue.fill(block, 0, SIZE, (byte) 2))
            .isInstanceOf(IllegalArgumentException.class)
            .hasMessageContaining("opencl:0");
        block.free();
      }
    }
  }

  @Test
  void aClosedQueueSaysSo() {
    try (Device device = Pocl.device(Map.of())) {
      Queue queue = device.createQueue();
      Block block = device.allocate(16, 1, BlockKind.DEVICE);
      queue.close();
      queue.close();
      assertThatThrownBy(() -> queue.fill(block, 0, 16, (byte) 0))
          .isInstanceOf(IllegalStateException.class)
          .hasMessageContaining("opencl:0");
      block.free();
    }
  }

  @Test
  void closingWaitsForWhatWasEnqueued() {
    try (Device device = Pocl.device(Map.of())) {
      Block block = device.allocate(SIZE, 64, BlockKind.DEVICE);
      try (Queue queue = device.createQueue()) {
        queue.fill(block, 0, SIZE, (byte) 9).close();
      }
      try (Queue queue = device.createQueue()) {
        assertThat(Bytes.read(queue, block, 0, SIZE)).containsOnly(9);
      }
      block.free();
    }
  }
}

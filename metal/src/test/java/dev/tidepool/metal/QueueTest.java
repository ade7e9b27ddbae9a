package dev.tidepool.metal;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.AcceleratorException;
import dev.tidepool.spi.Block;
import dev.tidepool.spi.BlockKind;
import dev.tidepool.spi.Device;
import dev.tidepool.spi.Event;
import dev.tidepool.spi.EventWait;
import dev.tidepool.spi.Piece;
import dev.tidepool.spi.Queue;
import dev.tidepool.testkit.metal.SimulatedMetal;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Commands over private memory arrive byte for byte, in order, and fail aloud. */
@ExtendWith(NothingLeaks.class)
@Timeout(120)
class QueueTest {
  private static final int BYTES = 1000;

  private SimulatedMetal simulated;
  private Device device;
  private Queue queue;
  private Block block;

  @BeforeEach
  void open() {
    simulated = Simulation.with(1);
    device = Simulation.privateDevices().getFirst();
    queue = device.createQueue();
    block = device.allocate(BYTES, 16, BlockKind.DEVICE);
  }

  @AfterEach
  void close() {
    queue.close();
    block.free();
    device.close();
  }

  private static void done(Event event) {
    try (event) {
      event.await();
    }
  }

  private void fillBlock() {
    MemorySegment source = Arena.ofAuto().allocate(BYTES);
    for (int i = 0; i < BYTES; i++) {
      source.set(JAVA_BYTE, i, (byte) (i % 251));
    }
    done(queue.write(source, block, 0));
  }

  private byte[] contents() {
    MemorySegment target = Arena.ofAuto().allocate(BYTES);
    done(queue.read(block, 0, target));
    return target.toArray(JAVA_BYTE);
  }

  /** Metal's own copies take multiples of 4 only. */
  @ParameterizedTest
  @CsvSource({"0, 500, 100", "1, 500, 100", "0, 501, 99", "3, 503, 101", "2, 501, 7", "5, 999, 1"})
  void bytesAreCopiedFromAndToAnyPlace(int from, int to, int count) {
    fillBlock();
    byte[] expected = contents();
    System.arraycopy(expected.clone(), from, expected, to, count);
    done(queue.copy(block, from, block, to, count));
    assertThat(contents()).isEqualTo(expected);
  }

  @ParameterizedTest
  @CsvSource({"0, 1000", "1, 3", "7, 500", "4, 8", "999, 1", "2, 2"})
  void bytesAreFilledAtAnyPlace(int from, int count) {
    fillBlock();
    byte[] expected = contents();
    for (byte value : new byte[] {0x5a, (byte) 0xa5}) {
      Arrays.fill(expected, from, from + count, value);
      done(queue.fill(block, from, count, value));
      assertThat(contents()).isEqualTo(expected);
    }
  }

  @ParameterizedTest
  @CsvSource({"2, 10", "4, 8", "4, 12"})
  void wordsAreFilled(int width, int from) {
    fillBlock();
    byte[] expected = contents();
    for (int i = 0; i < 4 * width; i++) {
      expected[from + i] = (byte) (0x01020304 >> (8 * (i % width)));
    }
    done(Objects.requireNonNull(queue.fillWords(block, from, 4L * width, width, 0x01020304)));
    assertThat(contents()).isEqualTo(expected);
    assertThat(queue.fillWords(block, from, 5, width, 1)).isNull();
  }

  @Test
  void piecesTravelInOneCommandBuffer() {
    fillBlock();
    byte[] expected = contents();
    Block pinned = device.allocate(300, 16, BlockKind.PINNED);
    MemorySegment staged = Objects.requireNonNull(pinned.segment());
    staged.fill((byte) 9);
    List<Piece> pieces = new ArrayList<>();
    for (int i = 0; i < 30; i++) {
      pieces.add(new Piece(i * 10L, block, i * 31L, 1 + i % 10));
      Arrays.fill(expected, i * 31, i * 31 + 1 + i % 10, (byte) 9);
    }
    long before = simulated.calls("commit");
    done(queue.scatter(staged, pieces));
    assertThat(simulated.calls("commit") - before).isEqualTo(1);
    assertThat(contents()).isEqualTo(expected);
    staged.fill((byte) 0);
    done(queue.gather(pieces, staged));
    for (Piece piece : pieces) {
      byte[] arrived = staged.asSlice(piece.from(), piece.bytes()).toArray(JAVA_BYTE);
      assertThat(arrived).containsOnly(9);
    }
    pinned.free();
  }

  @Test
  void queuesWaitForOneAnotherWithoutTheHost() {
    simulated.setAll("latency_ns", 20_000_000);
    MemorySegment source = Arena.ofAuto().allocate(BYTES).fill((byte) 4);
    try (Queue other = device.createQueue()) {
      Block copy = device.allocate(BYTES, 16, BlockKind.DEVICE);
      try (Event written = queue.write(source, block, 0)) {
        other.after(written);
        try (Event copied = other.copy(block, 0, copy, 0, BYTES)) {
          assertThat(copied.isDone()).isFalse();
          copied.await();
        }
      }
      simulated.setAll("latency_ns", 0);
      MemorySegment target = Arena.ofAuto().allocate(BYTES);
      done(other.read(copy, 0, target));
      assertThat(target.toArray(JAVA_BYTE)).containsOnly(4);
      copy.free();
    }
  }

  /** A command that failed never signals; the host does, so that nothing waits for ever. */
  @Test
  void aFailedCommandIsAnErrorAndHoldsNoQueueUp() throws InterruptedException {
    simulated.setAll("latency_ns", 50_000_000);
    simulated.fail("execute", 1, CommandErrors.PAGE_FAULT);
    MemorySegment source = Arena.ofAuto().allocate(BYTES).fill((byte) 4);
    try (Queue other = device.createQueue();
        Event failed = queue.write(source, block, 0)) {
      // So that this one is executed first, and fails. It has not ended yet.
      Thread.sleep(20);
      other.after(failed);
      done(other.fill(block, 0, BYTES, (byte) 2));
      assertThat(failed.isDone()).isTrue();
      for (int i = 0; i < 2; i++) {
        assertThatThrownBy(failed::await)
            .isInstanceOf(AcceleratorException.class)
            .hasMessageContaining("copyFromBuffer")
            .hasMessageContaining("MTLCommandBufferErrorPageFault (3)")
            .hasMessageContaining("MTL_SHADER_VALIDATION=1");
      }
    }
    assertThat(contents()).containsOnly(2);
  }

  @Test
  void anEventIsDoneWhenItsBytesAreThere() {
    fillBlock();
    MemorySegment target = Arena.ofAuto().allocate(BYTES);
    try (Event read = queue.read(block, 0, target)) {
      while (!read.isDone()) {
        Thread.onSpinWait();
      }
      assertThat(target.get(JAVA_BYTE, 250)).isEqualTo((byte) 250);
    }
  }

  @Test
  void aClosedQueueSaysSo() {
    Queue closed = device.createQueue();
    closed.close();
    closed.close();
    assertThatThrownBy(() -> closed.fill(block, 0, 4, (byte) 0))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("used after close");
  }

  /** Allocates all of the device's memory but some bytes. */
  private List<Block> fill(long free) {
    List<Block> blocks = new ArrayList<>();
    while (device.memory().freeBytes() > free) {
      long bytes = Math.min(256L << 20, device.memory().freeBytes() - free);
      blocks.add(device.allocate(bytes, 1, BlockKind.DEVICE));
    }
    return blocks;
  }

  @Test
  void bytesReachAFullDeviceAndLeaveIt() {
    int bytes = 100_001;
    byte[] sent = new byte[bytes];
    for (int i = 0; i < bytes; i++) {
      sent[i] = (byte) (i * 31);
    }
    byte[] back = new byte[bytes];
    Block large = device.allocate(bytes + 7, 16, BlockKind.DEVICE);
    List<Block> rest = fill(100);
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment source = arena.allocateFrom(JAVA_BYTE, sent);
      MemorySegment destination = arena.allocate(bytes);
      assertThat(device.memory().freeBytes()).isLessThan(bytes);
      done(queue.write(source, large, 7));
      done(queue.read(large, 7, destination));
      MemorySegment.copy(destination, JAVA_BYTE, 0, back, 0, bytes);
    } finally {
      rest.forEach(Block::free);
      large.free();
    }
    assertThat(back).isEqualTo(sent);
  }

  /** What an error interrupts, such as one of the stack, is done by the next one that asks. */
  @Test
  void theLastStepOfACommandIsDoneInSpiteOfAnError() {
    AtomicInteger tries = new AtomicInteger();
    CommandStream stream = new CommandStream((MetalDevice) device, queue.handle());
    MetalEvent event =
        stream.submit(
            "copy",
            _ -> {},
            new MetalEvent.LastStep(
                () -> {
                  if (tries.getAndIncrement() == 0) {
                    throw new StackOverflowError("for the test");
                  }
                },
                () -> {}));
    EventWait.untilEnded(event);
    assertThat(tries).hasValue(2);
    event.await();
    assertThat(tries).hasValue(2);
    event.close();
    stream.close();
  }

  /**
   * An autorelease pool belongs to a thread of the operating system. A virtual thread that waits
   * for another one goes on where it can, and has no pool then.
   */
  @Test
  void virtualThreadsSubmitWithTheirOwnPools() throws InterruptedException {
    fillBlock();
    List<Throwable> failures = new CopyOnWriteArrayList<>();
    List<Thread> threads = new ArrayList<>();
    for (int i = 0; i < 16; i++) {
      long target = 501 + i * 20L;
      threads.add(
          Thread.ofVirtual()
              .start(
                  () -> {
                    try {
                      for (int round = 0; round < 50; round++) {
                        done(queue.copy(block, 0, block, target, 19));
                      }
                    } catch (RuntimeException failed) {
                      failures.add(failed);
                    }
                  }));
    }
    for (Thread thread : threads) {
      thread.join();
    }
    assertThat(failures).isEmpty();
    assertThat(simulated.violations()).isEmpty();
  }
}

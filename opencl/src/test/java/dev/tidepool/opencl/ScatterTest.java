package dev.tidepool.opencl;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.spi.Block;
import dev.tidepool.spi.BlockKind;
import dev.tidepool.spi.Device;
import dev.tidepool.spi.Event;
import dev.tidepool.spi.Piece;
import dev.tidepool.spi.Queue;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CyclicBarrier;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Staged pieces arrive at their places, at every alignment, and nothing else changes; from there
 * they are fetched again.
 */
@ExtendWith(NothingLeaks.class)
class ScatterTest {
  private static final int SIZE = 1 << 18;

  /** Pieces that do not touch, of up to twice what one row of the kernel takes. */
  private static List<Piece> pieces(Random random, List<Block> blocks, int count) {
    List<Piece> pieces = new ArrayList<>();
    int slot = SIZE / count;
    long from = 0;
    for (int i = 0; i < count; i++) {
      int bytes = random.nextInt(slot);
      int offset = i * slot + random.nextInt(slot - bytes);
      // Half of them lie like their places, as those do that travel fast.
      from += random.nextBoolean() ? Math.floorMod(offset - from, 16) : random.nextInt(16);
      pieces.add(new Piece(from, blocks.get(random.nextInt(blocks.size())), offset, bytes));
      from += bytes;
    }
    Collections.shuffle(pieces, random);
    return pieces;
  }

  private static void scatterAndCheck(Queue queue, List<Block> blocks, long seed, int count) {
    scatterAndCheck(queue, queue::scatter, queue::gather, blocks, seed, count);
  }

  private static void scatterAndCheck(
      Queue queue,
      BiFunction<MemorySegment, List<Piece>, Event> scattering,
      BiFunction<List<Piece>, MemorySegment, Event> gathering,
      List<Block> blocks,
      long seed,
      int count) {
    Random random = new Random(seed);
    List<Piece> pieces = pieces(random, blocks, count);
    long staged = pieces.stream().mapToLong(piece -> piece.from() + piece.bytes()).max().orElse(0);
    byte[] bytes = Bytes.pattern((int) staged, seed);
    List<byte[]> models = new ArrayList<>();
    for (Block block : blocks) {
      byte[] model = Bytes.pattern(SIZE, seed + models.size() + 1);
      Bytes.write(queue, model, block, 0);
      models.add(model);
    }
    for (Piece piece : pieces) {
      System.arraycopy(
          bytes,
          (int) piece.from(),
          models.get(blocks.indexOf(piece.block())),
          (int) piece.offset(),
          (int) piece.bytes());
    }
    try (Arena arena = Arena.ofConfined();
        Event done =
            scattering.apply(arena.allocateFrom(JAVA_BYTE, bytes).asSlice(0, staged), pieces)) {
      done.await();
      assertThat(done.isDone()).isTrue();
    }
    for (int i = 0; i < blocks.size(); i++) {
      assertThat(Bytes.read(queue, blocks.get(i), 0, SIZE))
          .as("block %d, seed %d", i, seed)
          .isEqualTo(models.get(i));
    }
    gatherAndCheck(gathering, pieces, bytes, seed);
  }

  /** Fetches pieces from where they were scattered to. */
  private static void gatherAndCheck(
      BiFunction<List<Piece>, MemorySegment, Event> gathering,
      List<Piece> pieces,
      byte[] sent,
      long seed) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment staged = arena.allocate(Math.max(1, sent.length), 64).asSlice(0, sent.length);
      Bytes.await(gathering.apply(pieces, staged));
      for (Piece piece : pieces) {
        int from = (int) piece.from();
        int to = from + (int) piece.bytes();
        assertThat(staged.asSlice(piece.from(), piece.bytes()).toArray(JAVA_BYTE))
            .as("%s, seed %d", piece, seed)
            .isEqualTo(Arrays.copyOfRange(sent, from, to));
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void piecesOfAnySizeArriveAtAnyAlignment(MemoryMode mode) {
    long seed = Long.getLong("tidepool.test.seed", System.nanoTime());
    System.out.println("ScatterTest: seed " + seed);
    try (Device device = mode.open();
        Queue queue = device.createQueue()) {
      List<Block> blocks = new ArrayList<>();
      for (int i = 0; i < 3; i++) {
        blocks.add(device.allocate(SIZE, 64, BlockKind.DEVICE));
      }
      for (int count : new int[] {1, 4, 33, 1000}) {
        scatterAndCheck(queue, blocks, seed + count, count);
      }
      blocks.forEach(Block::free);
    }
  }

  /** As on a graphics card: what is staged is copied to a buffer, and 64 items copy a row. */
  @Test
  void aDeviceThatIsNoProcessorOfTheHostGetsACopyOfWhatIsStaged() {
    try (OpenClDevice device = (OpenClDevice) MemoryMode.DISCRETE.open();
        Queue queue = device.createQueue();
        ScatterKernel kernel = new ScatterKernel(device, false);
        Scatter scatter = new Scatter(kernel, device.context())) {
      List<Block> blocks = new ArrayList<>();
      for (int i = 0; i < 3; i++) {
        blocks.add(device.allocate(SIZE, 64, BlockKind.DEVICE));
      }
      // The last needs more room than those before it.
      for (int count : new int[] {1000, 33, 4, 1}) {
        scatterAndCheck(
            queue,
            (staged, pieces) -> submitted(device, queue, to -> scatter.scatter(to, staged, pieces)),
            (pieces, staged) -> submitted(device, queue, to -> scatter.gather(to, pieces, staged)),
            blocks,
            count,
            count);
      }
      blocks.forEach(Block::free);
    }
  }

  /** Submits commands, one operation at a time, because PoCL runs kernels alone. */
  private static Event submitted(OpenClDevice device, Queue queue, Consumer<Submission> commands) {
    return SerialCommands.alone(
        () -> {
          try (Submission submission = new Submission(device.context(), queue.handle())) {
            commands.accept(submission);
            OpenClEvent event = submission.end();
            event.await();
            return event;
          }
        });
  }

  @Test
  void moreBlocksThanLaunchesAreWorthGetAWriteEach() {
    try (Device device = MemoryMode.DISCRETE.open();
        Queue queue = device.createQueue()) {
      List<Block> blocks = new ArrayList<>();
      for (int i = 0; i < 20; i++) {
        blocks.add(device.allocate(SIZE, 64, BlockKind.DEVICE));
      }
      scatterAndCheck(queue, blocks, 7, 100);
      blocks.forEach(Block::free);
    }
  }

  @Test
  void nothingIsScatteredToNowhere() {
    try (Device device = MemoryMode.DISCRETE.open();
        Queue queue = device.createQueue()) {
      Block block = device.allocate(SIZE, 64, BlockKind.DEVICE);
      byte[] bytes = Bytes.pattern(SIZE, 3);
      Bytes.write(queue, bytes, block, 0);
      // A marker, which ends behind the commands before it.
      assertThat(commands(() -> queue.scatter(MemorySegment.NULL, List.of()))).isEqualTo(1);
      assertThat(commands(() -> queue.gather(List.of(), MemorySegment.NULL))).isEqualTo(1);
      assertThat(Bytes.read(queue, block, 0, SIZE)).isEqualTo(bytes);
      block.free();
    }
  }

  /** Drivers before OpenCL 2.1 refuse a launch of no items. */
  @Test
  void aBlockWhosePiecesAreAllEmptyGetsNoLaunch() {
    try (Device device = MemoryMode.DISCRETE.open();
        Queue queue = device.createQueue();
        Arena arena = Arena.ofConfined()) {
      Block block = device.allocate(SIZE, 64, BlockKind.DEVICE);
      Block empty = device.allocate(SIZE, 64, BlockKind.DEVICE);
      MemorySegment staged = arena.allocate(10, 16).fill((byte) 3);
      List<Piece> full = List.of(new Piece(0, block, 20, 10));
      List<Piece> withEmpty = new ArrayList<>(full);
      withEmpty.add(0, new Piece(5, empty, 7, 0));
      withEmpty.add(new Piece(10, empty, SIZE, 0));
      assertThat(commands(() -> queue.scatter(staged, withEmpty)))
          .isPositive()
          .isEqualTo(commands(() -> queue.scatter(staged, full)));
      assertThat(Bytes.read(queue, block, 20, 10)).containsOnly(3);
      staged.fill((byte) 0);
      assertThat(commands(() -> queue.gather(withEmpty, staged)))
          .isEqualTo(commands(() -> queue.gather(full, staged)));
      assertThat(staged.toArray(JAVA_BYTE)).containsOnly(3);
      block.free();
      empty.free();
    }
  }

  /** How many commands of the driver one operation is. */
  private static long commands(Supplier<Event> operation) {
    long before = ObjectKind.LIVE.count(ObjectKind.EVENT);
    try (Event done = operation.get()) {
      done.await();
      return ObjectKind.LIVE.count(ObjectKind.EVENT) - before;
    }
  }

  @Test
  void aBlockThatWasFreedIsNoPlace() {
    try (Device device = MemoryMode.DISCRETE.open();
        Queue queue = device.createQueue();
        Arena arena = Arena.ofConfined()) {
      Block block = device.allocate(SIZE, 64, BlockKind.DEVICE);
      block.free();
      List<Piece> pieces = List.of(new Piece(0, block, 0, 10));
      assertThatThrownBy(() -> queue.scatter(arena.allocate(10), pieces))
          .isInstanceOf(IllegalStateException.class)
          .hasMessageContaining("after its free");
    }
  }

  @Test
  void threadsScatterOnOneQueueAtTheSameTime() throws Exception {
    try (Device device = MemoryMode.DISCRETE.open();
        Queue queue = device.createQueue()) {
      CyclicBarrier start = new CyclicBarrier(4);
      List<Throwable> failures = Collections.synchronizedList(new ArrayList<>());
      List<Thread> threads = new ArrayList<>();
      for (int t = 0; t < 4; t++) {
        long seed = t * 1000L;
        threads.add(
            Thread.ofPlatform()
                .start(
                    () -> {
                      Block block = device.allocate(SIZE, 64, BlockKind.DEVICE);
                      try {
                        start.await();
                        for (int i = 0; i < 20; i++) {
                          scatterAndCheck(queue, List.of(block), seed + i, 50 + i);
                        }
                      } catch (Throwable e) {
                        failures.add(e);
                      } finally {
                        block.free();
                      }
                    }));
      }
      for (Thread thread : threads) {
        thread.join();
      }
      assertThat(failures).isEmpty();
    }
  }
}

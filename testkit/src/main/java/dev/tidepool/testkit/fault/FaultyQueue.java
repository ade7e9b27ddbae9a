package dev.tidepool.testkit.fault;

import dev.tidepool.AcceleratorException;
import dev.tidepool.spi.Block;
import dev.tidepool.spi.Event;
import dev.tidepool.spi.KernelArgument;
import dev.tidepool.spi.Launch;
import dev.tidepool.spi.Piece;
import dev.tidepool.spi.Program;
import dev.tidepool.spi.Queue;
import dev.tidepool.testkit.SpiCall;
import dev.tidepool.testkit.fault.FaultyDevice.FaultyBlock;
import dev.tidepool.testkit.fault.FaultyDevice.FaultyProgram;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/** A queue whose commands can be made to fail, at once or in their events. */
final class FaultyQueue implements Queue {
  private final FaultyDevice device;
  private final Queue queue;

  FaultyQueue(FaultyDevice device, Queue queue) {
    this.device = device;
    this.queue = queue;
  }

  /** Submits a command with all or half of its bytes. */
  private interface Submission {
    Event submit(long bytes);
  }

  private Event command(SpiCall call, long bytes, Submission submission) {
    return command(call, device.next(call), bytes, submission);
  }

  private Event command(
      SpiCall call, @Nullable Failure failure, long bytes, Submission submission) {
    AcceleratorException broken = begin(call, failure);
    return new FaultyEvent(device, submission.submit(broken == null ? bytes : bytes / 2), broken);
  }

  /** Refuses a command, or returns the failure of its event; null if there is none. */
  private @Nullable AcceleratorException begin(SpiCall call, @Nullable Failure failure) {
    return begin(device, call, failure);
  }

  static @Nullable AcceleratorException begin(FaultyDevice device, SpiCall call) {
    return begin(device, call, device.next(call));
  }

  private static @Nullable AcceleratorException begin(
      FaultyDevice device, SpiCall call, @Nullable Failure failure) {
    if (failure == Failure.BROKEN || failure == Failure.TRANSIENT) {
      return FaultInjector.thrown(failure, call);
    }
    device.throwIf(failure, call);
    return null;
  }

  /** Runs a command and waits for it in one call; either may fail. */
  private void now(SpiCall call, @Nullable Failure failure, long bytes, LongConsumer movement) {
    AcceleratorException broken = begin(call, failure);
    movement.accept(broken == null ? bytes : bytes / 2);
    Failure awaited = device.next(SpiCall.EVENT_AWAIT);
    if (broken != null) {
      throw broken;
    }
    device.throwIf(awaited, SpiCall.EVENT_AWAIT);
  }

  @Override
  public Event write(MemorySegment source, Block destination, long offset) {
    Failure failure = device.next(SpiCall.WRITE);
    MemorySegment sent = failure == Failure.DAMAGED ? damaged(source) : source;
    return command(
        SpiCall.WRITE,
        failure,
        source.byteSize(),
        bytes -> queue.write(sent.asSlice(0, bytes), own(destination), offset));
  }

  @Override
  public void writeNow(MemorySegment source, Block destination, long offset) {
    Failure failure = device.next(SpiCall.WRITE);
    MemorySegment sent = failure == Failure.DAMAGED ? damaged(source) : source;
    now(
        SpiCall.WRITE,
        failure,
        source.byteSize(),
        bytes -> queue.writeNow(sent.asSlice(0, bytes), own(destination), offset));
  }

  @Override
  public void readNow(Block source, long offset, MemorySegment destination) {
    now(
        SpiCall.READ,
        device.next(SpiCall.READ),
        destination.byteSize(),
        bytes -> queue.readNow(own(source), offset, destination.asSlice(0, bytes)));
  }

  @Override
  public Event scatter(MemorySegment staged, List<Piece> pieces) {
    return command(
        SpiCall.SCATTER,
        pieces.size(),
        count -> queue.scatter(staged, ownPieces(pieces.subList(0, Math.toIntExact(count)))));
  }

  @Override
  public Event gather(List<Piece> pieces, MemorySegment staged) {
    return command(
        SpiCall.GATHER,
        pieces.size(),
        count -> queue.gather(ownPieces(pieces.subList(0, Math.toIntExact(count))), staged));
  }

  @Override
  public boolean scattersAtOnce() {
    return queue.scattersAtOnce();
  }

  private static List<Piece> ownPieces(List<Piece> pieces) {
    return pieces.stream()
        .map(piece -> new Piece(piece.from(), own(piece.block()), piece.offset(), piece.bytes()))
        .toList();
  }

  @Override
  public Event read(Block source, long offset, MemorySegment destination) {
    return command(
        SpiCall.READ,
        destination.byteSize(),
        bytes -> queue.read(own(source), offset, destination.asSlice(0, bytes)));
  }

  /** Returns a copy of the bytes with one of them changed. */
  private static MemorySegment damaged(MemorySegment source) {
    MemorySegment copy = Arena.ofAuto().allocate(source.byteSize()).copyFrom(source);
    long at = source.byteSize() / 2;
    copy.set(ValueLayout.JAVA_BYTE, at, (byte) ~copy.get(ValueLayout.JAVA_BYTE, at));
    return copy;
  }

  @Override
  public Event copy(Block source, long sourceOffset, Block destination, long offset, long bytes) {
    return command(
        SpiCall.COPY,
        bytes,
        count -> queue.copy(own(source), sourceOffset, own(destination), offset, count));
  }

  @Override
  public Event fill(Block block, long offset, long bytes, byte value) {
    return command(SpiCall.FILL, bytes, count -> queue.fill(own(block), offset, count, value));
  }

  @Override
  public @Nullable Event fillWords(Block block, long offset, long bytes, int width, int word) {
    AcceleratorException broken = begin(SpiCall.FILL, device.next(SpiCall.FILL));
    long half = bytes / 2 - bytes / 2 % width;
    Event event = queue.fillWords(own(block), offset, broken == null ? bytes : half, width, word);
    if (event == null && broken != null) {
      throw broken; // Without a command there is no event that could fail.
    }
    return event == null ? null : new FaultyEvent(device, event, broken);
  }

  @Override
  public Event launch(Launch launch) {
    Launch own = own(launch);
    return command(SpiCall.LAUNCH, 0, _ -> queue.launch(own));
  }

  @Override
  public Event launch(Launch launch, List<Event> dependsOn) {
    Launch own = own(launch);
    List<Event> events = dependsOn.stream().map(FaultyQueue::own).toList();
    return command(SpiCall.LAUNCH, 0, _ -> queue.launch(own, events));
  }

  private static Launch own(Launch launch) {
    Program program =
        launch.program() instanceof FaultyProgram faulty ? faulty.program() : launch.program();
    List<KernelArgument> arguments = new ArrayList<>();
    for (KernelArgument argument : launch.arguments()) {
      arguments.add(
          argument instanceof KernelArgument.Array(Block block, long offset, long bytes)
              ? new KernelArgument.Array(own(block), offset, bytes)
              : argument);
    }
    return new Launch(program, arguments, launch.range());
  }

  @Override
  public Event acquire(Block block) {
    device.check(SpiCall.ACQUIRE);
    return new FaultyEvent(
        device, queue.acquire(own(block)), null, () -> queue.release(own(block)));
  }

  @Override
  public Event release(Block block) {
    device.check(SpiCall.RELEASE);
    return new FaultyEvent(
        device, queue.release(own(block)), null, () -> queue.acquire(own(block)));
  }

  @Override
  public @Nullable Event prefetch(Block block, long offset, long bytes, boolean toDevice) {
    return queue.prefetch(own(block), offset, bytes, toDevice);
  }

  @Override
  public void after(Event event) {
    device.check(SpiCall.AFTER);
    queue.after(own(event));
  }

  @Override
  public long handle() {
    return queue.handle();
  }

  @Override
  public Event mark() {
    return command(SpiCall.MARK, 0, _ -> queue.mark());
  }

  @Override
  public void finish() {
    device.next(SpiCall.FINISH);
    queue.finish();
  }

  @Override
  public void close() {
    device.next(SpiCall.CLOSE_QUEUE);
    queue.close();
  }

  static Event own(Event event) {
    return event instanceof FaultyEvent faulty ? faulty.event() : event;
  }

  private static Block own(Block block) {
    return block instanceof FaultyBlock faulty ? faulty.block() : block;
  }
}

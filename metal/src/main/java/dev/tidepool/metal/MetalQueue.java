package dev.tidepool.metal;

import dev.tidepool.OutOfDeviceMemoryException;
import dev.tidepool.metal.HostBuffers.Place;
import dev.tidepool.spi.Block;
import dev.tidepool.spi.Event;
import dev.tidepool.spi.HostAccess;
import dev.tidepool.spi.Launch;
import dev.tidepool.spi.Piece;
import dev.tidepool.spi.Queue;
import dev.tidepool.spi.Shutdown;
import dev.tidepool.spi.support.Closing;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A command queue of one device. Each command is a command buffer of its own.
 *
 * <p>Commands copy memory of the host directly if it is in one of the device's buffers. Other
 * memory is copied into a staging buffer when the command is submitted, or out of one when its
 * event is first seen to be done. Without memory for a staging buffer, copies go through the
 * device's {@link StagingReserve}.
 */
final class MetalQueue implements Queue {
  private static final String COPY = "copyFromBuffer:sourceOffset:toBuffer:destinationOffset:size:";
  private static final String FILL = "fillBuffer:range:value:";
  private static final String DISPATCH = "dispatchThreadgroups:threadsPerThreadgroup:";

  private static final int MOST_UNDER_WAY = 512;

  private final MetalDevice device;
  private final long queue;
  private final CommandStream stream;
  private final AtomicBoolean closed = new AtomicBoolean();

  MetalQueue(MetalDevice device) {
    this.device = device;
    this.queue = Metal.newCommandQueue(device.handle(), MOST_UNDER_WAY);
    try {
      this.stream = new CommandStream(device, queue);
    } catch (RuntimeException | Error refused) {
      NativeCall.release(ObjectKind.QUEUE, queue);
      throw refused;
    }
  }

  /** A place in a buffer at which a copy begins. */
  private record Bytes(long buffer, long offset) {}

  @Override
  public Event write(MemorySegment source, Block destination, long offset) {
    MetalBlock target = own(destination);
    long bytes = source.byteSize();
    if (bytes == 0) {
      return mark();
    }
    Place place = device.blocks().hostBuffers().find(source);
    if (place != null) {
      return copy(place.block(), place.offset(), target, offset, bytes);
    }
    return staged(
        bytes,
        staging -> {
          device.blocks().contents(staging, bytes).copyFrom(source);
          return copy(new Bytes(staging, 0), bytesOf(target, offset), bytes);
        },
        reserve ->
            reserve.write(
                source,
                (buffer, at, count) ->
                    copy(new Bytes(buffer, 0), bytesOf(target, offset + at), count)));
  }

  @Override
  public Event read(Block source, long offset, MemorySegment destination) {
    MetalBlock from = own(source);
    long bytes = destination.byteSize();
    if (bytes == 0) {
      return mark();
    }
    Place place = device.blocks().hostBuffers().find(destination);
    if (place != null) {
      return copy(from, offset, place.block(), place.offset(), bytes);
    }
    return staged(
        bytes,
        staging -> readInto(staging, from, offset, destination),
        reserve ->
            reserve.read(
                destination,
                (buffer, at, count) ->
                    copy(bytesOf(from, offset + at), new Bytes(buffer, 0), count)));
  }

  private Event readInto(long staging, MetalBlock source, long offset, MemorySegment destination) {
    long bytes = destination.byteSize();
    MemorySegment contents = device.blocks().contents(staging, bytes);
    MetalEvent.LastStep lastStep =
        new MetalEvent.LastStep(
            () -> destination.copyFrom(contents),
            () -> NativeCall.release(ObjectKind.BUFFER, staging));
    NativeCall.retain(ObjectKind.BUFFER, staging);
    try {
      return stream.submit(
          COPY, to -> copy(to, bytesOf(source, offset), new Bytes(staging, 0), bytes), lastStep);
    } catch (RuntimeException | Error refused) {
      lastStep.release().run();
      throw refused;
    }
  }

  private interface Staged {
    Event submit(long staging);
  }

  /**
   * Submits a command that uses a staging buffer, which Metal keeps until the command has ended.
   *
   * @param withoutRoom performs the copy if there is no memory for such a buffer
   */
  private Event staged(long bytes, Staged action, Consumer<StagingReserve> withoutRoom) {
    long staging;
    try {
      staging = device.blocks().staging(bytes);
    } catch (OutOfDeviceMemoryException full) {
      StagingReserve reserve = device.blocks().reserve();
      if (reserve == null) {
        throw full;
      }
      withoutRoom.accept(reserve);
      return mark();
    }
    try {
      return action.submit(staging);
    } finally {
      // The command may be running, and its event must reach the caller.
      Closing.surviving("release", () -> NativeCall.release(ObjectKind.BUFFER, staging));
    }
  }

  @Override
  public Event copy(Block source, long sourceOffset, Block destination, long offset, long bytes) {
    MetalBlock from = own(source);
    MetalBlock target = own(destination);
    return bytes == 0 ? mark() : copy(bytesOf(from, sourceOffset), bytesOf(target, offset), bytes);
  }

  private Event copy(Bytes source, Bytes target, long bytes) {
    return stream.submit(COPY, to -> copy(to, source, target, bytes));
  }

  private void copy(Commands to, Bytes source, Bytes target, long bytes) {
    device
        .bytes()
        .copy(to, source.buffer(), source.offset(), target.buffer(), target.offset(), bytes);
  }

  private static Bytes bytesOf(MetalBlock block, long offset) {
    return new Bytes(block.buffer(), block.at(offset));
  }

  /**
   * Uses one command buffer for all pieces: most of the cost of a small copy is its command buffer.
   */
  @Override
  public Event scatter(MemorySegment staged, List<Piece> pieces) {
    Place place = device.blocks().hostBuffers().find(staged);
    if (place == null) {
      return Queue.super.scatter(staged, pieces);
    }
    return submitPieces(
        pieces,
        (to, piece) ->
            copy(
                to,
                bytesOf(place.block(), place.offset() + piece.from()),
                bytesOf(own(piece.block()), piece.offset()),
                piece.bytes()));
  }

  @Override
  public Event gather(List<Piece> pieces, MemorySegment staged) {
    Place place = device.blocks().hostBuffers().find(staged);
    if (place == null) {
      return Queue.super.gather(pieces, staged);
    }
    return submitPieces(
        pieces,
        (to, piece) ->
            copy(
                to,
                bytesOf(own(piece.block()), piece.offset()),
                bytesOf(place.block(), place.offset() + piece.from()),
                piece.bytes()));
  }

  private interface PieceCopy {
    void encode(Commands to, Piece piece);
  }

  private Event submitPieces(List<Piece> pieces, PieceCopy copy) {
    pieces.forEach(piece -> own(piece.block()));
    return stream.submit(COPY, to -> pieces.forEach(piece -> copy.encode(to, piece)));
  }

  @Override
  public boolean scattersAtOnce() {
    return true;
  }

  @Override
  public Event fill(Block block, long offset, long bytes, byte value) {
    MetalBlock target = own(block);
    return bytes == 0
        ? mark()
        : stream.submit(
            FILL, to -> device.bytes().fill(to, target.buffer(), target.at(offset), bytes, value));
  }

  @Override
  public @Nullable Event fillWords(Block block, long offset, long bytes, int width, int word) {
    MetalBlock target = own(block);
    if (bytes % width != 0) {
      return null;
    }
    return bytes == 0
        ? mark()
        : stream.submit(
            DISPATCH,
            to ->
                device
                    .bytes()
                    .fillWords(to, target.buffer(), target.at(offset), bytes, width, word));
  }

  @Override
  public Event launch(Launch launch) {
    return launch(launch, List.of());
  }

  @Override
  public Event launch(Launch launch, List<Event> dependsOn) {
    if (!(launch.program() instanceof MetalProgram program) || !program.runsOn(device)) {
      throw new IllegalArgumentException(
          "a program that was not compiled for " + device.info().id() + " cannot run there");
    }
    if (launch.range().items() == 0) {
      return mark();
    }
    List<MetalEvent.Wait> waits = new ArrayList<>(dependsOn.size());
    try {
      for (Event event : dependsOn) {
        MetalEvent.Wait wait = stream.wait(event);
        if (wait != null) {
          waits.add(wait);
        }
      }
      return stream.submit(
          DISPATCH,
          to -> {
            to.waitFor(waits);
            program.encode(to, launch);
          });
    } finally {
      waits.forEach(MetalEvent.Wait::close);
    }
  }

  @Override
  public Event acquire(Block block) {
    requireReached(own(block));
    return mark();
  }

  @Override
  public Event release(Block block) {
    requireReached(own(block));
    return mark();
  }

  private static void requireReached(MetalBlock block) {
    if (block.hostAccess() == HostAccess.NONE) {
      throw new IllegalArgumentException(
          "the host reaches a block of " + block.byteSize() + " bytes by copies only");
    }
  }

  @Override
  public void after(Event event) {
    stream.after(event);
  }

  @Override
  public long handle() {
    return queue;
  }

  @Override
  public Event mark() {
    return stream.mark();
  }

  private MetalBlock own(Block block) {
    if (block instanceof MetalBlock metal && device.reaches(metal)) {
      var _ = metal.buffer();
      return metal;
    }
    throw new IllegalArgumentException(
        "a block of another backend or device is not reached by " + device.info().id());
  }

  @Override
  public void finish() {
    stream.finish();
  }

  @Override
  public void close() {
    if (!closed.compareAndSet(false, true) || Shutdown.hasBegun()) {
      return;
    }
    stream.close();
    Closing.surviving("release", () -> NativeCall.release(ObjectKind.QUEUE, queue));
  }
}

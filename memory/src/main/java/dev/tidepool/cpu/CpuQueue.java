package dev.tidepool.cpu;

import dev.tidepool.TidepoolException;
import dev.tidepool.TransferException;
import dev.tidepool.host.system.TruncatedMapCheck;
import dev.tidepool.spi.Block;
import dev.tidepool.spi.Event;
import dev.tidepool.spi.Launch;
import dev.tidepool.spi.Queue;
import java.lang.foreign.MemorySegment;
import java.util.Objects;

/**
 * Runs each command on the calling thread, before the method returns. So the commands of one caller
 * are in order. Commands of several callers may run at the same time, because they use different
 * bytes. No lock is held, because the body of a kernel may use this queue, and may wait for others
 * that use it.
 */
final class CpuQueue implements Queue {
  @Override
  public Event write(MemorySegment source, Block destination, long offset) {
    return run(() -> MemorySegment.copy(source, 0, bytes(destination), offset, source.byteSize()));
  }

  @Override
  public Event read(Block source, long offset, MemorySegment destination) {
    return run(
        () -> MemorySegment.copy(bytes(source), offset, destination, 0, destination.byteSize()));
  }

  @Override
  public Event copy(Block source, long sourceOffset, Block destination, long offset, long bytes) {
    return run(
        () -> MemorySegment.copy(bytes(source), sourceOffset, bytes(destination), offset, bytes));
  }

  @Override
  public Event fill(Block block, long offset, long bytes, byte value) {
    return run(() -> bytes(block).asSlice(offset, bytes).fill(value));
  }

  @Override
  public Event launch(Launch launch) {
    if (!(launch.program() instanceof CpuProgram program)) {
      throw new IllegalArgumentException("the program was compiled for another device");
    }
    return run(() -> program.run(launch));
  }

  @Override
  public Event acquire(Block block) {
    return new CpuEvent(null);
  }

  @Override
  public Event release(Block block) {
    return new CpuEvent(null);
  }

  @Override
  public void after(Event event) {
    event.await();
  }

  @Override
  public Event mark() {
    return new CpuEvent(null);
  }

  /** Does nothing: every command has ended when its method has returned. */
  @Override
  public void finish() {}

  @Override
  public void close() {}

  static MemorySegment bytes(Block block) {
    return Objects.requireNonNull(block.segment(), "the CPU needs blocks with a segment");
  }

  private static CpuEvent run(Runnable command) {
    try {
      command.run();
      TruncatedMapCheck.surface();
      return new CpuEvent(null);
    } catch (RuntimeException e) {
      return new CpuEvent(e);
    } catch (InternalError e) {
      // The virtual machine throws this if bytes of a mapped file vanish during an access.
      return new CpuEvent(
          new TransferException(
              "a command failed: a mapped file became shorter, or its disk failed", e));
    } catch (Error e) {
      // From the body of a kernel: only its launch fails.
      return new CpuEvent(new TidepoolException("a command failed: " + e, e));
    }
  }
}

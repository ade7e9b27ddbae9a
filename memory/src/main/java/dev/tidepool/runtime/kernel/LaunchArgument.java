package dev.tidepool.runtime.kernel;

import dev.tidepool.KernelParameter;
import dev.tidepool.runtime.buffer.BufferHandle;
import dev.tidepool.runtime.order.Exceptions;
import dev.tidepool.runtime.order.ResourceAccess;
import dev.tidepool.runtime.storage.Coherence;
import dev.tidepool.spi.Block;
import dev.tidepool.spi.KernelArgument;
import org.jspecify.annotations.Nullable;

/**
 * One array argument of a launch, in a buffer of the launch's manager: its block on the device, and
 * what the launch does to the state of the bytes.
 *
 * <p>Used by one thread at a time: the one that asks for the launch, those that run it, and the one
 * that settles it.
 */
final class LaunchArgument {
  private final KernelParameter parameter;
  private final BufferHandle<?> buffer;
  // Its block, if that was found in place.
  private @Nullable Block block;
  // As they were when the block was looked for.
  private int revocations;
  // Whether the launch was submitted to write it, and whether its host copy counts again if that
  // fails.
  private boolean isExpected;
  private boolean isRevocable;

  LaunchArgument(KernelParameter parameter, BufferHandle<?> buffer) {
    this.parameter = parameter;
    this.buffer = buffer;
  }

  KernelParameter parameter() {
    return parameter;
  }

  BufferHandle<?> buffer() {
    return buffer;
  }

  boolean isWritten() {
    return parameter.access().writes();
  }

  ResourceAccess access() {
    return ResourceAccess.onDevice(buffer.storage(), isWritten());
  }

  private Coherence coherence() {
    return buffer.storage().coherence();
  }

  /** Looks for the block; whether it is there and no byte has to move for it. */
  boolean findInPlace() {
    Coherence coherence = coherence();
    revocations = coherence.state().revocations();
    block = coherence.deviceInPlace(buffer.from(), buffer.to(), isWritten());
    return block != null;
  }

  /** Forgets the block that was found, because it may move. */
  void forgetBlock() {
    block = null;
  }

  boolean lacksMemory() {
    return coherence().lacksDeviceMemory();
  }

  void provideMemory() {
    coherence().provideDeviceMemory();
  }

  /** Returns its bytes on the device; brought there, unless they were found in place. */
  KernelArgument bind() {
    Block found = block;
    if (found == null) {
      found = brought();
    } else {
      coherence().usedInPlace();
    }
    return new KernelArgument.Array(found.whole(), found.start() + buffer.from(), buffer.bytes());
  }

  private Block brought() {
    Coherence coherence = coherence();
    try {
      return switch (parameter.access()) {
        case OUT -> coherence.deviceForWrite(buffer.from(), buffer.to(), true);
        case INOUT -> coherence.deviceForWrite(buffer.from(), buffer.to(), false);
        default -> coherence.deviceForRead(buffer.from(), buffer.to());
      };
    } catch (InternalError e) {
      // The bytes of a mapped file vanished on their way to the device.
      throw Exceptions.transfer(
          e, "bringing '" + parameter.name() + "', " + buffer + ", to the device");
    }
  }

  /** The launch was submitted; {@link #settled} follows. */
  void submitted() {
    if (isWritten()) {
      isExpected = true;
      isRevocable = coherence().state().deviceWillWrite(buffer.from(), buffer.to(), revocations);
    }
  }

  /** A launch that was submitted has ended. May be called again when that was interrupted. */
  void settled(boolean failed) {
    if (isExpected) {
      isExpected = false;
      coherence().state().deviceWriteSettled(buffer.from(), buffer.to(), failed && isRevocable);
    }
  }

  /** The launch has ended on the thread that runs it. */
  void written() {
    if (isWritten()) {
      coherence().state().deviceWritten(buffer.from(), buffer.to());
    }
  }

  /** The launch failed on the thread that runs it, or was refused. */
  void writeFailed() {
    if (isWritten()) {
      coherence().state().deviceWriteFailed(buffer.from(), buffer.to());
    }
  }
}

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
 * the changes of the launch to the state of the bytes.
 *
 * <p>Used by one thread at a time: the submitting thread, the threads that run the launch, and the
 * thread that settles it.
 */
final class LaunchArgument {
  private final KernelParameter parameter;
  private final BufferHandle<?> buffer;
  // The block, if it was found in place.
  private @Nullable Block block;
  // The revocations of the bytes when the block was looked up.
  private int revocations;
  // Whether the launch was submitted to write it, and whether the host copy becomes valid again if
  // the launch fails.
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

  /** Looks for the block. Returns whether it is present and no bytes must be copied for it. */
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

  /** Returns the bytes on the device; brings them there, unless they were found in place. */
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

  /** Notes that the launch was submitted; {@link #settled} follows. */
  void submitted() {
    if (isWritten()) {
      isExpected = true;
      isRevocable = coherence().state().deviceWillWrite(buffer.from(), buffer.to(), revocations);
    }
  }

  /** Notes that a submitted launch has ended. May be called again after an error. */
  void settled(boolean failed) {
    if (isExpected) {
      isExpected = false;
      coherence().state().deviceWriteSettled(buffer.from(), buffer.to(), failed && isRevocable);
    }
  }

  /** Notes that the launch has ended on the thread that runs it. */
  void written() {
    if (isWritten()) {
      coherence().state().deviceWritten(buffer.from(), buffer.to());
    }
  }

  /** Notes that the launch failed on the thread that runs it, or was refused. */
  void writeFailed() {
    if (isWritten()) {
      coherence().state().deviceWriteFailed(buffer.from(), buffer.to());
    }
  }
}

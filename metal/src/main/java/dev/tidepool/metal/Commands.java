package dev.tidepool.metal;

import dev.tidepool.spi.support.Closing;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A command buffer that one thread fills within an autorelease pool. It has one encoder at a time,
 * for copies or for kernels. If it is closed before its {@link #commit}, it is dropped: the device
 * does not receive it.
 */
final class Commands implements AutoCloseable {
  private enum Encoder {
    NONE,
    BLIT,
    COMPUTE
  }

  private final MetalDevice device;
  private final long buffer;
  private Encoder current = Encoder.NONE;
  private long encoder;
  private boolean committed;
  private final List<Long> kept = new ArrayList<>();

  Commands(MetalDevice device, long queue) {
    this.device = device;
    this.buffer = Metal.commandBuffer(queue);
  }

  MetalDevice device() {
    return device;
  }

  /** Takes ownership of a buffer that commands use; Metal keeps it until committed commands end. */
  long keep(long made) {
    kept.add(made);
    return made;
  }

  /** Makes commands that are encoded from now on wait for commands of other queues. */
  void waitFor(List<MetalEvent.Wait> waits) {
    endEncoding();
    waits.forEach(wait -> wait.encode(buffer));
  }

  /** Returns the encoder of copies and fills. */
  long blit() {
    if (current != Encoder.BLIT) {
      endEncoding();
      encoder = Metal.blitCommandEncoder(buffer);
      current = Encoder.BLIT;
    }
    return encoder;
  }

  /** Returns the encoder of kernels, which run one after another. */
  long compute() {
    if (current != Encoder.COMPUTE) {
      endEncoding();
      encoder = Metal.computeCommandEncoder(buffer);
      current = Encoder.COMPUTE;
    }
    return encoder;
  }

  private void endEncoding() {
    if (current != Encoder.NONE) {
      current = Encoder.NONE;
      Metal.endEncoding(encoder);
    }
  }

  /**
   * Submits the commands to the device.
   *
   * @param command their name, for messages
   * @param number the number that the timeline reaches after them
   */
  MetalEvent commit(
      String command, Timeline timeline, long number, MetalEvent.@Nullable LastStep lastStep) {
    endEncoding();
    Metal.encodeSignalEvent(buffer, timeline.event(), number);
    // Created first, so that the end of every committed command can be awaited.
    MetalEvent event = new MetalEvent(command, buffer, timeline, number, lastStep);
    try {
      Metal.commit(buffer);
    } catch (RuntimeException | Error refused) {
      timeline.leave();
      throw refused;
    }
    committed = true;
    return event;
  }

  @Override
  public void close() {
    if (!committed) {
      Closing.surviving("endEncoding", this::endEncoding);
      NativeCall.release(ObjectKind.COMMAND_BUFFER, buffer);
    }
    kept.forEach(
        made -> Closing.surviving("release", () -> NativeCall.release(ObjectKind.BUFFER, made)));
  }
}

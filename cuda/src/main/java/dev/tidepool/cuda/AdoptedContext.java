package dev.tidepool.cuda;

import dev.tidepool.AcceleratorException;
import dev.tidepool.spi.support.Setting;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * A context, and optionally a stream, of the program or of another library in this process.
 * Tidepool uses them for the context's device instead of its own.
 *
 * <p>Both remain the property of their owner. Tidepool does not destroy them, and they have to live
 * until the last Tidepool that was opened on them is closed.
 *
 * @param context its device is opened on it
 * @param stream all commands of the device are submitted to it; if empty, the device creates
 *     streams
 */
record AdoptedContext(Context context, OptionalLong stream) {
  private static final String CONTEXT = "tidepool.cuda.context";
  private static final String STREAM = "tidepool.cuda.stream";

  /**
   * Returns the context and the stream that the settings name; empty if they name none. The driver
   * is initialized.
   *
   * @throws IllegalArgumentException if a handle is invalid, or belongs to another context
   */
  static Optional<AdoptedContext> read() {
    OptionalLong context = handle(CONTEXT);
    OptionalLong stream = handle(STREAM);
    if (context.isEmpty()) {
      if (stream.isPresent()) {
        throw new IllegalArgumentException(
            STREAM + " is set without " + CONTEXT + ": set that to the CUcontext of the stream");
      }
      return Optional.empty();
    }
    Context adopted = adopted(context.getAsLong());
    stream.ifPresent(handle -> requireOf(adopted, handle));
    return Optional.of(new AdoptedContext(adopted, stream));
  }

  private static Context adopted(long context) {
    if (context == 0) {
      throw new IllegalArgumentException(
          CONTEXT + " is null: set it to the CUcontext that the device is to be opened on");
    }
    try {
      return Context.adopt(context);
    } catch (AcceleratorException refused) {
      throw new IllegalArgumentException(
          "%s=%#x is no context of this driver that is alive: %s"
              .formatted(CONTEXT, context, refused.getMessage()),
          refused);
    }
  }

  private static void requireOf(Context context, long stream) {
    if (ForeignStream.isDefault(stream)) {
      throw new IllegalArgumentException(
          "%s=%s is a default stream, which waits for others: set it to a stream that was created"
              .formatted(STREAM, stream));
    }
    long owner;
    try {
      owner = context.call(() -> Cuda.cuStreamGetCtx(stream));
    } catch (AcceleratorException refused) {
      throw new IllegalArgumentException(
          "%s=%#x is no stream of this driver that is alive: %s"
              .formatted(STREAM, stream, refused.getMessage()),
          refused);
    }
    if (owner != context.handle()) {
      throw new IllegalArgumentException(
          "%s=%#x is a stream of context %#x, and %s is %#x, of device %s: set both to the same one"
              .formatted(STREAM, stream, owner, CONTEXT, context.handle(), context.device()));
    }
  }

  private static OptionalLong handle(String property) {
    Optional<String> text = Setting.text(property);
    try {
      return text.isPresent() ? OptionalLong.of(Long.decode(text.get())) : OptionalLong.empty();
    } catch (NumberFormatException noNumber) {
      throw new IllegalArgumentException(
          property + "=" + text.orElseThrow() + " is no handle: write a number such as 0x7f12c0",
          noNumber);
    }
  }
}

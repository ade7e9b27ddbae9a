package dev.tidepool.cuda;

import java.util.Map;

/**
 * Another library of the process, with a context of a device and a stream there.
 *
 * @param context the primary one, which it holds
 */
record Library(Context context, long stream) implements AutoCloseable {
  static final String CONTEXT = "tidepool.cuda.context";
  static final String STREAM = "tidepool.cuda.stream";

  static Library on(int device) {
    Cuda.cuInit();
    Context context = Context.retain(device);
    return new Library(context, context.call(() -> Cuda.cuStreamCreateWithPriority(0)));
  }

  String contextText() {
    return Long.toString(context.handle());
  }

  String streamText() {
    return "0x" + Long.toHexString(stream);
  }

  /** What opens a device on both. */
  Map<String, String> settings() {
    return Map.of(CONTEXT, contextText(), STREAM, streamText());
  }

  @Override
  public void close() {
    context.run(() -> Cuda.cuStreamDestroy(stream));
    context.release();
  }
}

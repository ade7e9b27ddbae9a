package dev.tidepool.metal;

import dev.tidepool.AcceleratorException;
import dev.tidepool.spi.Shutdown;
import dev.tidepool.spi.support.DriverCall;

/**
 * Calls functions and sends messages. This class counts objects, and refuses calls once the virtual
 * machine shuts down, when frameworks are torn down, too.
 */
final class NativeCall {
  /** A call that returns a number or an object. */
  @FunctionalInterface
  interface Answer {
    long invoke() throws Throwable;
  }

  /** A call without a result. */
  @FunctionalInterface
  interface Command {
    void invoke() throws Throwable;
  }

  private NativeCall() {}

  static long answer(String name, Answer call) {
    DriverCall.requireRunning(name, "Metal framework");
    try {
      return call.invoke();
    } catch (Throwable thrown) {
      throw DriverCall.unexpected(name, thrown);
    }
  }

  static boolean truth(String name, Answer call) {
    return answer(name, call) != 0;
  }

  static void run(String name, Command call) {
    var _ =
        answer(
            name,
            () -> {
              call.invoke();
              return 0;
            });
  }

  /**
   * Returns an object that the caller owns and releases.
   *
   * @throws AcceleratorException if the call returns none
   */
  static long create(String name, ObjectKind kind, Answer call) {
    long object = answer(name, call);
    if (object == 0) {
      throw nothing(name);
    }
    ObjectKind.LIVE.created(kind);
    return object;
  }

  /** Returns the error of a message that returns no object and does not say why. */
  static AcceleratorException nothing(String name) {
    return new AcceleratorException(
        name,
        0,
        "nil",
        "Metal made no such object and does not say why; close buffers and try again",
        AcceleratorException.Kind.TRANSIENT);
  }

  /** Retains an object, which the caller then owns. */
  static void retain(ObjectKind kind, long object) {
    Foundation.retain(object);
    ObjectKind.LIVE.created(kind);
  }

  /** Releases an owned object; during shutdown this does nothing. */
  static void release(ObjectKind kind, long object) {
    if (Shutdown.hasBegun()) {
      return;
    }
    ObjectKind.LIVE.released(kind);
    Foundation.release(object);
  }
}

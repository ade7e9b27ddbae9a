package dev.tidepool.cuda.ipc;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/**
 * The functions of Linux for pipes. Java's own pipes cannot pass an end to another process. Links
 * functions as {@link SocketCalls} does.
 */
final class PipeCalls {
  static final int O_CLOEXEC = 0x80000;
  static final int F_DUPFD_CLOEXEC = 1030;
  static final int POLLHUP = 0x10;
  // struct pollfd.
  static final long POLL_BYTES = 8;
  static final long POLL_RESULT = 6;

  private static final MethodHandle PIPE2 = SocketCalls.link("pipe2", ADDRESS, JAVA_INT);
  private static final MethodHandle FCNTL =
      SocketCalls.linkVariadic("fcntl", 2, JAVA_INT, JAVA_INT, JAVA_INT);
  private static final MethodHandle POLL = SocketCalls.link("poll", ADDRESS, JAVA_LONG, JAVA_INT);

  private PipeCalls() {}

  /** Creates a pipe: its reading end and its writing end. Child processes do not inherit them. */
  static int[] pipe() throws IOException {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment ends = arena.allocate(JAVA_INT, 2);
      var _ =
          SocketCalls.checked("pipe2", state -> (int) PIPE2.invokeExact(state, ends, O_CLOEXEC));
      return ends.toArray(JAVA_INT);
    }
  }

  /** Duplicates a descriptor. Child processes do not inherit the new one. */
  static int duplicate(int descriptor) throws IOException {
    return (int)
        SocketCalls.checked(
            "fcntl", state -> (int) FCNTL.invokeExact(state, descriptor, F_DUPFD_CLOEXEC, 0));
  }

  /**
   * Waits until every writing end of a pipe is closed.
   *
   * @param millis how long to wait at most; a negative number waits without limit
   * @return whether every writing end is closed
   */
  static boolean hasEnded(int reading, int millis) throws IOException {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment awaited = arena.allocate(POLL_BYTES, Integer.BYTES);
      awaited.set(JAVA_INT, 0, reading);
      var _ =
          SocketCalls.checked("poll", state -> (int) POLL.invokeExact(state, awaited, 1L, millis));
      return (awaited.get(JAVA_SHORT, POLL_RESULT) & POLLHUP) != 0;
    }
  }
}

package dev.tidepool.cuda.ipc;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import dev.tidepool.host.system.Platform;
import dev.tidepool.spi.support.FailureLog;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.VarHandle;
import java.net.ConnectException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;

/**
 * The functions of Linux for sockets that have a path. Java's own sockets cannot pass a file
 * descriptor to another process ({@code SCM_RIGHTS}). {@code pidfd_getfd} would need no socket, but
 * most systems let a process take descriptors from its own children only.
 *
 * <p>A method for each function; nothing above this class sees an address. The first use links the
 * functions, and must be on Linux.
 */
final class SocketCalls {
  static final int AF_UNIX = 1;
  static final int SOCK_STREAM_CLOEXEC = 1 | 0x80000;
  static final int SOL_SOCKET = 1;
  static final int SCM_RIGHTS = 1;
  static final int SO_RCVTIMEO = 20;
  static final int SO_SNDTIMEO = 21;
  static final int SHUT_RDWR = 2;
  static final int MSG_NOSIGNAL = 0x4000;
  static final int MSG_CMSG_CLOEXEC = 0x40000000;
  static final int ECONNREFUSED = 111;
  private static final int BACKLOG = 64;
  // A stopped process accepts as many connections as its backlog holds; more would wait.
  private static final long CONNECT_NANOS = 1_000_000;

  // struct sockaddr_un, struct msghdr, and struct cmsghdr with one int, of 64-bit Linux.
  static final long ADDRESS_BYTES = 110;
  static final int LONGEST_PATH = 107;
  static final long MESSAGE_BYTES = 56;
  static final int MESSAGE_PARTS = 16;
  static final int MESSAGE_PARTS_COUNT = 24;
  static final int MESSAGE_CONTROL = 32;
  static final int MESSAGE_CONTROL_BYTES = 40;
  static final long CONTROL_BYTES = 24;
  static final long CONTROL_LENGTH = 20;
  static final int CONTROL_LEVEL = 8;
  static final int CONTROL_TYPE = 12;
  static final int CONTROL_DESCRIPTOR = 16;

  private static final Linker.Option ERRNO = Linker.Option.captureCallState("errno");
  private static final StructLayout STATE = Linker.Option.captureStateLayout();
  private static final VarHandle STATE_ERRNO =
      STATE.varHandle(MemoryLayout.PathElement.groupElement("errno"));

  private static final MethodHandle SOCKET = link("socket", JAVA_INT, JAVA_INT, JAVA_INT);
  private static final MethodHandle BIND = link("bind", JAVA_INT, ADDRESS, JAVA_INT);
  private static final MethodHandle LISTEN = link("listen", JAVA_INT, JAVA_INT);
  private static final MethodHandle ACCEPT = link("accept", JAVA_INT, ADDRESS, ADDRESS);
  private static final MethodHandle CONNECT = link("connect", JAVA_INT, ADDRESS, JAVA_INT);
  private static final MethodHandle SETSOCKOPT =
      link("setsockopt", JAVA_INT, JAVA_INT, JAVA_INT, ADDRESS, JAVA_INT);
  private static final MethodHandle SHUTDOWN = link("shutdown", JAVA_INT, JAVA_INT);
  private static final MethodHandle CLOSE = link("close", JAVA_INT);
  private static final MethodHandle SENDMSG = linkLong("sendmsg");
  private static final MethodHandle RECVMSG = linkLong("recvmsg");

  private SocketCalls() {}

  /** Returns whether this system has functions that pass descriptors. */
  static boolean areThere() {
    if (!Platform.CURRENT.isLinux()) {
      return false;
    }
    SymbolLookup library = Linker.nativeLinker().defaultLookup();
    return library.find("sendmsg").isPresent() && library.find("recvmsg").isPresent();
  }

  static MethodHandle link(String name, MemoryLayout... parameters) {
    return link(name, FunctionDescriptor.of(JAVA_INT, parameters), ERRNO);
  }

  private static MethodHandle link(String name, FunctionDescriptor type, Linker.Option... options) {
    Linker linker = Linker.nativeLinker();
    return linker.downcallHandle(linker.defaultLookup().findOrThrow(name), type, options);
  }

  /** Links a function that takes any number of parameters after the first ones. */
  static MethodHandle linkVariadic(String name, int fixed, MemoryLayout... parameters) {
    return link(
        name,
        FunctionDescriptor.of(JAVA_INT, parameters),
        ERRNO,
        Linker.Option.firstVariadicArg(fixed));
  }

  private static MethodHandle linkLong(String name) {
    return link(name, FunctionDescriptor.of(JAVA_LONG, JAVA_INT, ADDRESS, JAVA_INT), ERRNO);
  }

  @FunctionalInterface
  interface Call {
    long invoke(MemorySegment state) throws Throwable;
  }

  /** Calls a function that returns -1 for an error; throws then. */
  static long checked(String function, Call call) throws IOException {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment state = arena.allocate(STATE);
      long result = call.invoke(state);
      if (result == -1) {
        int error = (int) STATE_ERRNO.get(state, 0L);
        String message = function + " failed with error " + error;
        throw error == ECONNREFUSED ? new ConnectException(message) : new IOException(message);
      }
      return result;
    } catch (IOException | RuntimeException | Error e) {
      throw e;
    } catch (Throwable e) {
      throw new IllegalStateException("the call of " + function + " failed", e);
    }
  }

  private static int socket() throws IOException {
    return (int)
        checked(
            "socket", state -> (int) SOCKET.invokeExact(state, AF_UNIX, SOCK_STREAM_CLOEXEC, 0));
  }

  /** Limits how long calls of one direction wait for the other process. */
  private static void limitWaits(int socket, int option, long nanos) throws IOException {
    try (Arena arena = Arena.ofConfined()) {
      // Zero would mean no limit.
      long micros = Math.max(1, nanos / 1000);
      MemorySegment time = arena.allocateFrom(JAVA_LONG, micros / 1_000_000, micros % 1_000_000);
      int bytes = (int) time.byteSize();
      var _ =
          checked(
              "setsockopt",
              state ->
                  (int) SETSOCKOPT.invokeExact(state, socket, SOL_SOCKET, option, time, bytes));
    }
  }

  /** Creates a socket at a new path, which processes of this user can connect to. */
  static int listen(Path path) throws IOException {
    int socket = socket();
    boolean done = false;
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment address = address(path, arena);
      int bytes = (int) address.byteSize();
      var _ = checked("bind", state -> (int) BIND.invokeExact(state, socket, address, bytes));
      // Before the first connection: until now, the process's umask determines the permissions.
      Files.setPosixFilePermissions(path, PosixFilePermissions.fromString("rw-------"));
      var _ = checked("listen", state -> (int) LISTEN.invokeExact(state, socket, BACKLOG));
      done = true;
      return socket;
    } finally {
      if (!done) {
        close(socket);
      }
    }
  }

  /** Waits for a connection; fails once the socket is {@link #shutdown}. */
  static int accept(int socket) throws IOException {
    MemorySegment none = MemorySegment.NULL;
    return (int) checked("accept", state -> (int) ACCEPT.invokeExact(state, socket, none, none));
  }

  /**
   * Connects to the listener at a path. Fails immediately if too many connections wait there
   * already.
   *
   * @throws ConnectException if the socket has no listener
   */
  static int connect(Path path) throws IOException {
    int socket = socket();
    boolean done = false;
    try (Arena arena = Arena.ofConfined()) {
      limitWaits(socket, SO_SNDTIMEO, CONNECT_NANOS);
      MemorySegment address = address(path, arena);
      int bytes = (int) address.byteSize();
      var _ = checked("connect", state -> (int) CONNECT.invokeExact(state, socket, address, bytes));
      done = true;
      return socket;
    } finally {
      if (!done) {
        close(socket);
      }
    }
  }

  /** Wakes the threads that wait in {@link #accept}. */
  static void shutdown(int socket) throws IOException {
    var _ = checked("shutdown", state -> (int) SHUTDOWN.invokeExact(state, socket, SHUT_RDWR));
  }

  /** Closes any descriptor. An error is only logged: the descriptor is closed nevertheless. */
  static void close(int descriptor) {
    try {
      var _ = checked("close", state -> (int) CLOSE.invokeExact(state, descriptor));
    } catch (IOException e) {
      FailureLog.debug("a descriptor could not be closed", e);
    }
  }

  /** Sends a descriptor, with the one byte of data that the system requires. */
  static void send(int socket, int descriptor) throws IOException {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment control = arena.allocate(CONTROL_BYTES, Long.BYTES);
      control.set(JAVA_LONG, 0, CONTROL_LENGTH);
      control.set(JAVA_INT, CONTROL_LEVEL, SOL_SOCKET);
      control.set(JAVA_INT, CONTROL_TYPE, SCM_RIGHTS);
      control.set(JAVA_INT, CONTROL_DESCRIPTOR, descriptor);
      MemorySegment message = message(control, arena);
      var _ =
          checked(
              "sendmsg", state -> (long) SENDMSG.invokeExact(state, socket, message, MSG_NOSIGNAL));
    }
  }

  /**
   * Receives a descriptor. This process then owns it, and child processes do not inherit it. Fails
   * if none arrives within {@code nanos}.
   */
  static int receive(int socket, long nanos) throws IOException {
    limitWaits(socket, SO_RCVTIMEO, nanos);
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment control = arena.allocate(CONTROL_BYTES, Long.BYTES);
      MemorySegment message = message(control, arena);
      long bytes =
          checked(
              "recvmsg",
              state -> (long) RECVMSG.invokeExact(state, socket, message, MSG_CMSG_CLOEXEC));
      int[] came = descriptors(message, control);
      if (bytes != 1 || came.length != 1) {
        for (int descriptor : came) {
          close(descriptor);
        }
        throw new IOException("the other process sent " + came.length + " descriptors, not one");
      }
      return came[0];
    }
  }

  /** Returns all descriptors received with a message. This process owns them, wanted or not. */
  private static int[] descriptors(MemorySegment message, MemorySegment control) {
    long bytes = Math.min(message.get(JAVA_LONG, MESSAGE_CONTROL_BYTES), control.get(JAVA_LONG, 0));
    if (bytes < CONTROL_DESCRIPTOR
        || control.get(JAVA_INT, CONTROL_LEVEL) != SOL_SOCKET
        || control.get(JAVA_INT, CONTROL_TYPE) != SCM_RIGHTS) {
      return new int[0];
    }
    long whole = (bytes - CONTROL_DESCRIPTOR) / Integer.BYTES * Integer.BYTES;
    return control.asSlice(CONTROL_DESCRIPTOR, whole).toArray(JAVA_INT);
  }

  private static MemorySegment message(MemorySegment control, Arena arena) {
    MemorySegment part = arena.allocate(ADDRESS.byteSize() + Long.BYTES, Long.BYTES);
    part.set(ADDRESS, 0, arena.allocate(1));
    part.set(JAVA_LONG, ADDRESS.byteSize(), 1L);
    MemorySegment message = arena.allocate(MESSAGE_BYTES, Long.BYTES);
    message.set(ADDRESS, MESSAGE_PARTS, part);
    message.set(JAVA_LONG, MESSAGE_PARTS_COUNT, 1L);
    message.set(ADDRESS, MESSAGE_CONTROL, control);
    message.set(JAVA_LONG, MESSAGE_CONTROL_BYTES, control.byteSize());
    return message;
  }

  private static MemorySegment address(Path path, Arena arena) throws IOException {
    byte[] name = path.toString().getBytes(StandardCharsets.UTF_8);
    if (name.length > LONGEST_PATH) {
      throw new IOException(
          "a socket's path has at most "
              + LONGEST_PATH
              + " bytes, and "
              + path
              + " has "
              + name.length
              + "; choose a folder with a shorter path with the option shared-directory");
    }
    MemorySegment address = arena.allocate(ADDRESS_BYTES, Short.BYTES);
    address.set(JAVA_SHORT, 0, (short) AF_UNIX);
    MemorySegment.copy(name, 0, address, JAVA_BYTE, 2, name.length);
    return address;
  }
}

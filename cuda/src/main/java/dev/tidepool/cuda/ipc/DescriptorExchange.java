package dev.tidepool.cuda.ipc;

import dev.tidepool.TransferException;
import java.io.IOException;
import java.net.ConnectException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import java.util.regex.Pattern;

/**
 * Passes a file descriptor between processes of one user, which find it by a name in a folder. Each
 * process that has the descriptor offers it at a socket of its own. So other processes can get it
 * as long as one process has it, also when its creator has ended.
 *
 * <p>Only the folder's owner can reach the sockets. A killed process leaves a socket without a
 * listener, which the next {@link #offer} or {@link #obtain} of any name deletes.
 *
 * <p>Safe for use by any thread; a platform thread answers requests.
 */
public final class DescriptorExchange implements AutoCloseable {
  private static final System.Logger LOG = System.getLogger(DescriptorExchange.class.getName());
  private static final String ENDING = ".fd";
  private static final String BEGUN = ".new";
  private static final Pattern OWN = Pattern.compile("[0-9a-f]{16}~[0-9a-f]{16}\\.[a-z]+");
  private static final long PATIENCE_NANOS = 5_000_000_000L;
  // A process that does not answer in this time may be stopped; it is asked again after the others.
  private static final long TURN_NANOS = 200_000_000;
  private static final long ENDING_MILLIS = 100;
  private static final long PAUSE_NANOS = 2_000_000;
  // A socket is renamed within milliseconds; one that is not renamed by then is a killed process's.
  private static final long BEGUN_MILLIS = 60_000;

  private final int descriptor;
  private final int socket;
  private final Path path;
  private final AtomicBoolean closing = new AtomicBoolean();
  private final Thread answering;
  private volatile boolean ended;

  private DescriptorExchange(String name, int descriptor, int socket, Path path) {
    this.descriptor = descriptor;
    this.socket = socket;
    this.path = path;
    this.answering =
        Thread.ofPlatform().daemon().name("tidepool-share-" + name).unstarted(this::answer);
  }

  /** Returns whether this system can pass descriptors. */
  public static boolean isSupported() {
    return SocketCalls.areThere();
  }

  /**
   * Offers a descriptor. The exchange owns it from now on and closes it if this call fails.
   *
   * @throws TransferException if the system refuses
   */
  public static DescriptorExchange offer(Path folder, String name, int descriptor) {
    String own = prefix(name) + hex(UUID.randomUUID());
    Path begun = folder.resolve(own + BEGUN);
    Path path = folder.resolve(own + ENDING);
    int socket = -1;
    try {
      sweep(folder);
      socket = SocketCalls.listen(begun);
      // Renamed only now: other processes delete a socket that has no listener.
      Files.move(begun, path, StandardCopyOption.ATOMIC_MOVE);
      DescriptorExchange offered = new DescriptorExchange(name, descriptor, socket, path);
      offered.answering.start();
      return offered;
    } catch (IOException | TransferException e) {
      withdraw(descriptor, socket, begun, path);
      throw new TransferException("the shared buffer " + name + " cannot be offered: " + e, e);
    } catch (RuntimeException | Error e) {
      // For example, the system has no thread left.
      withdraw(descriptor, socket, begun, path);
      throw e;
    }
  }

  private static void withdraw(int descriptor, int socket, Path begun, Path path) {
    SocketCalls.close(descriptor);
    if (socket >= 0) {
      SocketCalls.close(socket);
    }
    delete(begun);
    delete(path);
  }

  /**
   * Gets a descriptor that a process offers under a name. The caller closes it.
   *
   * @throws TransferException if no process answers within seconds
   */
  public static int obtain(Path folder, String name) {
    sweep(folder);
    long deadline = System.nanoTime() + PATIENCE_NANOS;
    for (; ; ) {
      for (Path path : sockets(folder, prefix(name) + "*" + ENDING)) {
        long left = deadline - System.nanoTime();
        int connection = left > 0 ? connect(path) : -1;
        if (connection >= 0) {
          try {
            return SocketCalls.receive(connection, Math.min(left, TURN_NANOS));
          } catch (IOException e) {
            // The socket was closed a moment ago, or its process is stopped. Try the next.
            LOG.log(System.Logger.Level.DEBUG, path + " does not answer", e);
          } finally {
            SocketCalls.close(connection);
          }
        }
      }
      if (System.nanoTime() - deadline > 0) {
        throw new TransferException(
            "no process that has the shared buffer "
                + name
                + " answered within "
                + PATIENCE_NANOS / 1_000_000_000L
                + " seconds; close it everywhere, or resume the stopped processes",
            null);
      }
      LockSupport.parkNanos(PAUSE_NANOS);
    }
  }

  /** Closes a descriptor that is not offered. */
  public static void discard(int descriptor) {
    SocketCalls.close(descriptor);
  }

  /**
   * Returns the start of sockets' names. It contains a hash of the name, because the path of a
   * socket must be short.
   */
  private static String prefix(String name) {
    return hex(UUID.nameUUIDFromBytes(name.getBytes(StandardCharsets.UTF_8))) + "~";
  }

  private static String hex(UUID id) {
    return HexFormat.of().toHexDigits(id.getMostSignificantBits() ^ id.getLeastSignificantBits());
  }

  /** Deletes the sockets of all names that killed processes left. */
  private static void sweep(Path folder) {
    for (Path path : sockets(folder, "*" + ENDING)) {
      int connection = connect(path);
      if (connection >= 0) {
        SocketCalls.close(connection);
      }
    }
    for (Path path : sockets(folder, "*" + BEGUN)) {
      if (path.toFile().lastModified() < System.currentTimeMillis() - BEGUN_MILLIS) {
        delete(path);
      }
    }
  }

  /** Returns the sockets in the folder that this class made. */
  private static List<Path> sockets(Path folder, String names) {
    List<Path> sockets = new ArrayList<>();
    try (DirectoryStream<Path> entries = Files.newDirectoryStream(folder, names)) {
      for (Path entry : entries) {
        if (OWN.matcher(entry.getFileName().toString()).matches() && isSocket(entry)) {
          sockets.add(entry);
        }
      }
    } catch (IOException | DirectoryIteratorException e) {
      throw new TransferException(folder + " cannot be read: " + e, e);
    }
    return sockets;
  }

  private static boolean isSocket(Path path) {
    try {
      return Files.readAttributes(path, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS)
          .isOther();
    } catch (IOException goneMeanwhile) {
      return false;
    }
  }

  /** Connects; returns -1 if that fails. Deletes a socket that has no listener. */
  private static int connect(Path path) {
    try {
      return SocketCalls.connect(path);
    } catch (ConnectException e) {
      delete(path);
      return -1;
    } catch (IOException e) {
      return -1;
    }
  }

  private void answer() {
    while (!ended) {
      try {
        int asker = SocketCalls.accept(socket);
        try {
          SocketCalls.send(asker, descriptor);
        } finally {
          SocketCalls.close(asker);
        }
      } catch (IOException e) {
        // The other process is gone, too many files are open, or the offer has ended.
        LockSupport.parkNanos(PAUSE_NANOS);
      }
    }
    delete(path);
    SocketCalls.close(socket);
    SocketCalls.close(descriptor);
  }

  /**
   * Ends the offer and closes the descriptor. A thread that is answering closes the descriptor a
   * moment later. Idempotent, and throws nothing.
   */
  @Override
  public void close() {
    if (!closing.compareAndSet(false, true)) {
      return;
    }
    try {
      SocketCalls.shutdown(socket);
    } catch (IOException e) {
      LOG.log(System.Logger.Level.WARNING, path + " is still offered", e);
    } finally {
      // Set last: the thread then closes the socket, and its number may be used again.
      ended = true;
    }
    try {
      answering.join(ENDING_MILLIS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private static void delete(Path path) {
    try {
      Files.deleteIfExists(path);
    } catch (IOException e) {
      LOG.log(System.Logger.Level.DEBUG, path + " could not be deleted", e);
    }
  }
}

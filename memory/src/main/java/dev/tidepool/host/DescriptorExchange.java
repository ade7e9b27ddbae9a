package dev.tidepool.host;

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
 * A file descriptor that processes of one user pass on to each other, found by a name in a {@link
 * SharedFolder}. Every process that has one offers it, at a socket of its own, so that it can be
 * had for as long as anybody has it, whoever made it.
 *
 * <p>Nobody but the folder's owner can reach the sockets. What a killed process leaves is a socket
 * that nobody listens at: whoever offers or looks for a descriptor of any name deletes it.
 *
 * <p>Safe for use by any thread; a platform thread answers.
 */
public final class DescriptorExchange implements AutoCloseable {
  private static final System.Logger LOG = System.getLogger(DescriptorExchange.class.getName());
  private static final String ENDING = ".fd";
  private static final String BEGUN = ".new";
  private static final Pattern OWN = Pattern.compile("[0-9a-f]{16}~[0-9a-f]{16}\\.[a-z]+");
  private static final long PATIENCE_NANOS = 5_000_000_000L;
  // Who does not answer by then may be stopped, and comes up again behind the others.
  private static final long TURN_NANOS = 200_000_000;
  private static final long ENDING_MILLIS = 100;
  private static final long PAUSE_NANOS = 2_000_000;
  // Beginning takes a moment; who has not ended by then was killed.
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

  /** Whether this system passes descriptors. */
  public static boolean isSupported() {
    return LibC.LINUX && LibC.has("sendmsg", "recvmsg");
  }

  /**
   * Offers a descriptor, which is this object's from now on, also when this fails.
   *
   * @throws TransferException if the system refuses
   */
  public static DescriptorExchange offer(SharedFolder folder, String name, int descriptor) {
    String own = prefix(name) + hex(UUID.randomUUID());
    Path begun = folder.path().resolve(own + BEGUN);
    Path path = folder.path().resolve(own + ENDING);
    int socket = -1;
    try {
      sweep(folder);
      socket = SocketCalls.listen(begun);
      // Only now, for whoever finds one where nobody listens deletes it.
      Files.move(begun, path, StandardCopyOption.ATOMIC_MOVE);
      DescriptorExchange offered = new DescriptorExchange(name, descriptor, socket, path);
      offered.answering.start();
      return offered;
    } catch (IOException | TransferException e) {
      withdraw(descriptor, socket, begun, path);
      throw new TransferException("the shared buffer " + name + " cannot be offered: " + e, e);
    } catch (RuntimeException | Error e) {
      // No thread, for one.
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
   * A descriptor that somebody offers under that name; the caller's to close.
   *
   * @throws TransferException if nobody answers within seconds
   */
  public static int obtain(SharedFolder folder, String name) {
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
            // It has just been closed, or is stuck. The next may do.
            LOG.log(System.Logger.Level.DEBUG, path + " does not answer", e);
          } finally {
            SocketCalls.close(connection);
          }
        }
      }
      if (System.nanoTime() - deadline > 0) {
        throw new TransferException(
            "nobody who has the shared buffer "
                + name
                + " answered for "
                + PATIENCE_NANOS / 1_000_000_000L
                + " seconds; close it everywhere, or let the stopped processes go on",
            null);
      }
      LockSupport.parkNanos(PAUSE_NANOS);
    }
  }

  /** Closes a descriptor that nobody offers. */
  public static void discard(int descriptor) {
    SocketCalls.close(descriptor);
  }

  /** A socket's path must be short: a name's hash is in it. */
  private static String prefix(String name) {
    return hex(UUID.nameUUIDFromBytes(name.getBytes(StandardCharsets.UTF_8))) + "~";
  }

  private static String hex(UUID id) {
    return HexFormat.of().toHexDigits(id.getMostSignificantBits() ^ id.getLeastSignificantBits());
  }

  /** Deletes what killed processes left, of any name. */
  private static void sweep(SharedFolder folder) {
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

  /** Sockets that this class made; what else is in the folder is nobody's business. */
  private static List<Path> sockets(SharedFolder folder, String names) {
    List<Path> sockets = new ArrayList<>();
    try (DirectoryStream<Path> entries = Files.newDirectoryStream(folder.path(), names)) {
      for (Path entry : entries) {
        if (OWN.matcher(entry.getFileName().toString()).matches() && isSocket(entry)) {
          sockets.add(entry);
        }
      }
    } catch (IOException | DirectoryIteratorException e) {
      throw new TransferException(folder.path() + " cannot be read: " + e, e);
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

  /** A connection; -1 if nobody listens any more, whose socket is deleted. */
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
        // The asker is gone, or there are too many files, or this is the end.
        LockSupport.parkNanos(PAUSE_NANOS);
      }
    }
    delete(path);
    SocketCalls.close(socket);
    SocketCalls.close(descriptor);
  }

  /**
   * Ends the offer and closes the descriptor; who answers just now does it a moment later.
   * Idempotent, and throws nothing.
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
      // Last, for the thread closes the socket then, and its number may be another's.
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

package dev.tidepool.cuda.ipc;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.FileChannel;
import java.nio.channels.ServerSocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

/** Processes pass descriptors on. */
@EnabledOnOs(OS.LINUX)
@Timeout(60)
final class DescriptorExchangeTest {
  private static final long PATIENCE_NANOS = 30_000_000_000L;

  @TempDir Path parent;
  private Path folder;
  private Path file;
  private FileChannel open;

  @BeforeEach
  void openOneFile() throws IOException {
    folder = Files.createDirectory(parent.toRealPath().resolve("s"));
    file = parent.toRealPath().resolve("offered");
    open = FileChannel.open(Files.createFile(file), StandardOpenOption.READ);
  }

  @AfterEach
  void close() throws IOException {
    open.close();
  }

  /** Numbers of this process's descriptors of the file. */
  private List<Integer> descriptors() throws IOException {
    List<Integer> numbers = new ArrayList<>();
    try (Stream<Path> all = Files.list(Path.of("/proc/self/fd"))) {
      for (Path link : all.toList()) {
        try {
          if (Files.readSymbolicLink(link).equals(file)) {
            numbers.add(Integer.valueOf(link.getFileName().toString()));
          }
        } catch (IOException closedMeanwhile) {
          // Another descriptor than the file's: only this test closes those.
        }
      }
    }
    return numbers;
  }

  /** Duplicates the descriptor of the file. */
  private int another() throws Throwable {
    return (int)
        Linker.nativeLinker()
            .downcallHandle(
                Linker.nativeLinker().defaultLookup().findOrThrow("dup"),
                FunctionDescriptor.of(JAVA_INT, JAVA_INT))
            .invokeExact((int) descriptors().getFirst());
  }

  private static ServerSocketChannel listening(Path path) throws IOException {
    ServerSocketChannel socket = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
    socket.bind(UnixDomainSocketAddress.of(path));
    return socket;
  }

  private Path in(String name) {
    return folder.resolve(name);
  }

  @Test
  void onlySocketsThatWereMadeForDescriptorsAreSwept() throws Throwable {
    String own = "0123456789abcdef~0123456789abcdef";
    List<Path> others = new ArrayList<>();
    for (String name : List.of("notes.new", "notes.fd", own + ".new", "f" + own + ".fd")) {
      others.add(Files.createFile(in(name)));
    }
    others.add(in("database.fd"));
    listening(in("database.fd")).close();
    others.add(in("database.new"));
    listening(in("database.new")).close();
    listening(in(own + ".fd")).close();
    listening(in("f" + own.substring(1) + ".new")).close();
    Path begun = in("f" + own.substring(1) + ".new");
    others.forEach(path -> assertThat(path.toFile().setLastModified(1_000_000)).isTrue());
    Files.setLastModifiedTime(begun, FileTime.fromMillis(1_000_000));

    DescriptorExchange.offer(folder, "x", another()).close();

    assertThat(others).allMatch(Files::exists);
    assertThat(in(own + ".fd")).doesNotExist();
    assertThat(begun).doesNotExist();
  }

  @Test
  void onlyTheOwnerMayConnect() throws Throwable {
    try (DescriptorExchange _ = DescriptorExchange.offer(folder, "x", another());
        Stream<Path> sockets = Files.list(folder)) {
      Path socket = sockets.toList().getFirst();
      assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(socket)))
          .isEqualTo("rw-------");
      int obtained = DescriptorExchange.obtain(folder, "x");
      assertThat(descriptors()).hasSize(3).contains(obtained);
      DescriptorExchange.discard(obtained);
    }
  }

  @Test
  void aStoppedProcessDoesNotBlockTheOthers() throws Throwable {
    List<ServerSocketChannel> stopped = new ArrayList<>();
    try (DescriptorExchange _ = DescriptorExchange.offer(folder, "x", another());
        Stream<Path> sockets = Files.list(folder)) {
      String name = sockets.toList().getFirst().getFileName().toString();
      for (int i = 0; i < 3; i++) {
        stopped.add(listening(in(name.substring(0, 17) + "%016x.fd".formatted(i))));
      }
      DescriptorExchange.discard(DescriptorExchange.obtain(folder, "x"));
    } finally {
      for (ServerSocketChannel socket : stopped) {
        socket.close();
      }
    }
  }

  @Test
  void moreDescriptorsThanOneAreRefusedAndClosed() throws Throwable {
    int listening = SocketCalls.listen(in("s"));
    CompletableFuture<Void> sent =
        CompletableFuture.runAsync(
            () -> {
              try {
                int asker = SocketCalls.accept(listening);
                int one = descriptors().getFirst();
                send(asker, one, one);
                SocketCalls.close(asker);
              } catch (Throwable e) {
                throw new AssertionError(e);
              }
            });
    int connection = SocketCalls.connect(in("s"));
    try {
      assertThatThrownBy(() -> SocketCalls.receive(connection, PATIENCE_NANOS))
          .isInstanceOf(IOException.class)
          .hasMessageContaining("sent 2 descriptors, not one");
      sent.join();
      assertThat(descriptors()).hasSize(1);
    } finally {
      SocketCalls.close(connection);
      SocketCalls.close(listening);
    }
  }

  /** Sends two descriptors in a {@code struct msghdr} of 64-bit Linux. */
  private static void send(int socket, int first, int second) throws Throwable {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment part = arena.allocate(16, 8);
      part.set(ADDRESS, 0, arena.allocate(1));
      part.set(JAVA_LONG, 8, 1L);
      MemorySegment control = arena.allocate(24, 8);
      control.set(JAVA_LONG, 0, 24L);
      control.set(JAVA_INT, 8, 1); // SOL_SOCKET
      control.set(JAVA_INT, 12, 1); // SCM_RIGHTS
      control.set(JAVA_INT, 16, first);
      control.set(JAVA_INT, 20, second);
      MemorySegment message = arena.allocate(56, 8);
      message.set(ADDRESS, 16, part);
      message.set(JAVA_LONG, 24, 1L);
      message.set(ADDRESS, 32, control);
      message.set(JAVA_LONG, 40, 24L);
      long bytes =
          (long)
              Linker.nativeLinker()
                  .downcallHandle(
                      Linker.nativeLinker().defaultLookup().findOrThrow("sendmsg"),
                      FunctionDescriptor.of(JAVA_LONG, JAVA_INT, ADDRESS, JAVA_INT))
                  .invokeExact(socket, message, 0);
      assertThat(bytes).isEqualTo(1);
    }
  }
}

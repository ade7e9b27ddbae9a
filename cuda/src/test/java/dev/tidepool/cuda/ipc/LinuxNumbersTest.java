package dev.tidepool.cuda.ipc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

/**
 * The numbers for sockets and pipes are those of the headers. Linux has the same on x86-64 and on
 * AArch64; nothing of this package is used on other systems.
 */
class LinuxNumbersTest {
  private static final String HEADERS =
      """
      #include <cstddef>
      #include <cstdio>
      #include <errno.h>
      #include <fcntl.h>
      #include <poll.h>
      #include <sys/socket.h>
      #include <sys/un.h>
      """;

  private static Map<String, Long> used() {
    Map<String, Long> used = new LinkedHashMap<>();
    used.put("AF_UNIX", (long) SocketCalls.AF_UNIX);
    used.put("SOCK_STREAM | SOCK_CLOEXEC", (long) SocketCalls.SOCK_STREAM_CLOEXEC);
    used.put("SOL_SOCKET", (long) SocketCalls.SOL_SOCKET);
    used.put("SCM_RIGHTS", (long) SocketCalls.SCM_RIGHTS);
    used.put("SO_RCVTIMEO", (long) SocketCalls.SO_RCVTIMEO);
    used.put("SO_SNDTIMEO", (long) SocketCalls.SO_SNDTIMEO);
    used.put("SHUT_RDWR", (long) SocketCalls.SHUT_RDWR);
    used.put("MSG_NOSIGNAL", (long) SocketCalls.MSG_NOSIGNAL);
    used.put("MSG_CMSG_CLOEXEC", (long) SocketCalls.MSG_CMSG_CLOEXEC);
    used.put("ECONNREFUSED", (long) SocketCalls.ECONNREFUSED);
    used.put("sizeof(sockaddr_un)", SocketCalls.ADDRESS_BYTES);
    used.put("sizeof(sockaddr_un::sun_path) - 1", (long) SocketCalls.LONGEST_PATH);
    used.put("sizeof(msghdr)", SocketCalls.MESSAGE_BYTES);
    used.put("offsetof(msghdr, msg_iov)", (long) SocketCalls.MESSAGE_PARTS);
    used.put("offsetof(msghdr, msg_iovlen)", (long) SocketCalls.MESSAGE_PARTS_COUNT);
    used.put("offsetof(msghdr, msg_control)", (long) SocketCalls.MESSAGE_CONTROL);
    used.put("offsetof(msghdr, msg_controllen)", (long) SocketCalls.MESSAGE_CONTROL_BYTES);
    used.put("CMSG_SPACE(sizeof(int))", SocketCalls.CONTROL_BYTES);
    used.put("CMSG_LEN(sizeof(int))", SocketCalls.CONTROL_LENGTH);
    used.put("offsetof(cmsghdr, cmsg_level)", (long) SocketCalls.CONTROL_LEVEL);
    used.put("offsetof(cmsghdr, cmsg_type)", (long) SocketCalls.CONTROL_TYPE);
    used.put("sizeof(cmsghdr)", (long) SocketCalls.CONTROL_DESCRIPTOR);
    used.put("O_CLOEXEC", (long) PipeCalls.O_CLOEXEC);
    used.put("F_DUPFD_CLOEXEC", (long) PipeCalls.F_DUPFD_CLOEXEC);
    used.put("POLLHUP", (long) PipeCalls.POLLHUP);
    used.put("sizeof(pollfd)", PipeCalls.POLL_BYTES);
    used.put("offsetof(pollfd, revents)", PipeCalls.POLL_RESULT);
    return used;
  }

  @Test
  @EnabledOnOs(OS.LINUX)
  void theNumbersAreThoseOfThisMachinesHeaders(@TempDir Path folder) throws Exception {
    Map<String, Long> used = used();
    StringBuilder program = new StringBuilder(HEADERS).append("int main() {\n");
    used.keySet()
        .forEach(
            expression ->
                program
                    .append("  std::printf(\"%lld\\n\", (long long) (")
                    .append(expression)
                    .append("));\n"));
    Path source = Files.writeString(folder.resolve("numbers.cpp"), program.append("}\n"));
    Path binary = folder.resolve("numbers");
    String compiler = System.getenv().getOrDefault("CXX", "g++");
    assumeTrue(isThere(compiler), "SKIPPED: there is no C++ compiler; set CXX");
    run(folder, compiler, source.toString(), "-o", binary.toString());
    assertThat(run(folder, binary.toString()))
        .isEqualTo(used.values().stream().map(String::valueOf).toList());
  }

  private static boolean isThere(String command) throws InterruptedException {
    try {
      return new ProcessBuilder(command, "--version")
              .redirectOutput(ProcessBuilder.Redirect.DISCARD)
              .start()
              .waitFor()
          == 0;
    } catch (IOException absent) {
      return false;
    }
  }

  private static List<String> run(Path folder, String... command)
      throws IOException, InterruptedException {
    Path output = folder.resolve("output");
    int status =
        new ProcessBuilder(command)
            .redirectErrorStream(true)
            .redirectOutput(output.toFile())
            .start()
            .waitFor();
    List<String> lines = Files.readAllLines(output);
    assertThat(status).as(String.join("\n", lines)).isZero();
    return lines;
  }
}

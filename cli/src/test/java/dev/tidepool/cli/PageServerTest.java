package dev.tidepool.cli;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.assertj.core.api.AbstractStringAssert;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class PageServerTest {
  @TempDir private Path folder;
  private final PageServer server = new PageServer("localhost", 0, () -> "{\"a\":1}");

  @AfterEach
  void stop() {
    server.close();
  }

  /** What the server answers to a request, word for word. */
  private String ask(String request) throws IOException {
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), server.port())) {
      socket.getOutputStream().write(request.getBytes(UTF_8));
      return new String(socket.getInputStream().readAllBytes(), UTF_8);
    }
  }

  @Test
  void its_address_is_one_that_browsers_take() {
    assertThat(server.url()).isEqualTo("http://localhost:" + server.port() + "/");
    assertThat(PageServer.url("::1", 80)).isEqualTo("http://[::1]:80/");
    assertThat(PageServer.url("[::1]", 80)).isEqualTo("http://[::1]:80/");
  }

  private String ask(String method, String path, String host) throws IOException {
    return ask(
        method + " " + path + " HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n\r\n");
  }

  private String get(String path) throws IOException {
    return ask("GET", path, "localhost:" + server.port());
  }

  @Test
  void answers_with_the_page_and_the_snapshot_and_lets_no_other_site_use_them() throws IOException {
    assertThat(get("/"))
        .startsWith("HTTP/1.1 200 ")
        .containsIgnoringCase("Content-Type: text/html; charset=utf-8")
        .contains("<!DOCTYPE html>", "data-source=\"live\"", "connect-src 'self'");
    assertThat(get("/snapshot.json"))
        .startsWith("HTTP/1.1 200 ")
        .containsIgnoringCase("Content-Type: application/json")
        .containsIgnoringCase("Cache-Control: no-store")
        .containsIgnoringCase("Cross-Origin-Resource-Policy: same-origin")
        .containsIgnoringCase("X-Frame-Options: DENY")
        .doesNotContainIgnoringCase("Access-Control-Allow")
        .endsWith("{\"a\":1}");
    assertThat(ask("HEAD", "/snapshot.json", "localhost"))
        .startsWith("HTTP/1.1 200 ")
        .containsIgnoringCase("Content-Length: 7\r\n")
        .endsWith("\r\n\r\n");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "/snapshot.json/",
        "/snapshot.jso",
        "/index.html",
        "/../../etc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/..%5c..%5cwindows",
        "/page.js",
        "/./snapshot.json",
        "/snapshot.json%00",
        "/proc/self/environ",
      })
  void odd_paths_are_not_there_and_show_nothing_of_the_machine(String path) throws IOException {
    assertThat(get(path)).startsWith("HTTP/1.1 404 ").endsWith("\r\n\r\nthere is no such page\n");
  }

  @ParameterizedTest
  @ValueSource(strings = {"POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "BREW"})
  void nothing_but_reading_is_allowed(String method) throws IOException {
    assertThat(ask(method, "/", "localhost"))
        .startsWith("HTTP/1.1 405 ")
        .containsIgnoringCase("Allow: GET, HEAD");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"evil.example", "localhost.evil.example:80", "127.0.0.1.evil.example", ""})
  void a_site_that_points_its_name_at_this_machine_reads_nothing(String host) throws IOException {
    assertThat(ask("GET", "/snapshot.json", host))
        .startsWith("HTTP/1.1 403 ")
        .doesNotContain("{\"a\"");
  }

  @ParameterizedTest
  @ValueSource(strings = {"localhost", "LOCALHOST:99", "127.0.0.1", "127.0.0.1:8080", "[::1]:8080"})
  void the_machines_own_names_and_addresses_are_served(String host) throws IOException {
    assertThat(ask("GET", "/snapshot.json", host)).startsWith("HTTP/1.1 200 ");
  }

  @Test
  void a_request_without_a_host_is_refused_and_rubbish_does_no_harm() throws IOException {
    assertThat(ask("GET / HTTP/1.0\r\n\r\n")).startsWith("HTTP/1.1 403 ");
    for (String rubbish :
        List.of("rubbish", "GET // HTTP/1.1\r\nHost: localhost", "GET  HTTP/1.1")) {
      assertThat(ask(rubbish + "\r\n\r\n")).doesNotContain("\tat ", "200 OK", "java.");
    }
    assertThat(get("/snapshot.json")).startsWith("HTTP/1.1 200 ");
  }

  @Test
  void only_this_machine_reaches_it_unless_it_is_told_otherwise() throws IOException {
    for (InetAddress address : InetAddress.getAllByName(InetAddress.getLocalHost().getHostName())) {
      if (!address.isLoopbackAddress()) {
        assertThatThrownBy(
                () -> {
                  try (Socket socket = new Socket()) {
                    socket.connect(new InetSocketAddress(address, server.port()), 2000);
                  }
                })
            .isInstanceOf(IOException.class);
      }
    }
    try (PageServer named = new PageServer("127.0.0.2", 0, () -> "{}")) {
      assertThat(named.url()).startsWith("http://127.0.0.2:");
    }
  }

  @Test
  void a_snapshot_that_cannot_be_taken_is_told_without_its_reason() throws IOException {
    try (PageServer broken =
        new PageServer(
            "localhost",
            0,
            () -> {
              throw new IllegalStateException("secret of the machine");
            })) {
      try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), broken.port())) {
        String request =
            "GET /snapshot.json HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
        socket.getOutputStream().write(request.getBytes(UTF_8));
        assertThat(new String(socket.getInputStream().readAllBytes(), UTF_8))
            .startsWith("HTTP/1.1 503 ")
            .doesNotContain("secret");
      }
    }
  }

  @Test
  void the_demo_serves_a_program_that_forgets_its_sessions() throws Exception {
    Path log = folder.resolve("log");
    Process demo = CommandProcess.start(log, Main.class, "demo", "--serve", "0");
    try {
      Awaitility.await()
          .atMost(Duration.ofMinutes(1))
          .until(() -> Files.readString(log).contains(" shows a program's memory"));
      String url =
          Files.readString(log)
              .lines()
              .filter(line -> line.startsWith("http"))
              .findFirst()
              .orElseThrow()
              .split(" ")[0];
      Path saved = folder.resolve("saved.json");
      Awaitility.await()
          .atMost(Duration.ofMinutes(1))
          .untilAsserted(
              () -> {
                try (var stream = URI.create(url + "snapshot.json").toURL().openStream()) {
                  Files.write(saved, stream.readAllBytes());
                }
                assertThat(Files.readString(saved))
                    .contains("session cache", "weights", "rememberSession");
              });
      assertThat(Command.run("view", saved.toString()).status()).isZero();
    } finally {
      demo.destroy();
    }
    assertThat(demo.waitFor(1, TimeUnit.MINUTES)).isTrue();
  }

  @Test
  void ports_and_hosts_that_cannot_be_are_one_clear_error() {
    refuses("the port is taken", "--serve", Integer.toString(server.port()))
        .contains("cannot listen on localhost:" + server.port());
    refuses("no port", "--serve", "65536").contains("ports are 1 to 65535");
    refuses("no number", "--serve", "http").contains("http");
    refuses("no such host", "--serve", "0", "--host", "nowhere.invalid")
        .contains("there is no host nowhere.invalid");
    refuses("nothing to serve", "--host", "0.0.0.0").contains("needs --serve");
  }

  private static AbstractStringAssert<?> refuses(String why, String... arguments) {
    String[] all = new String[arguments.length + 1];
    all[0] = "demo";
    System.arraycopy(arguments, 0, all, 1, arguments.length);
    Command.Result result = Command.run(all);
    assertThat(result.status()).as(why).isEqualTo(2);
    assertThat(result.err().lines()).as(result.err()).hasSize(1);
    return assertThat(result.err());
  }
}

package dev.tidepool.cli;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.sun.net.httpserver.Headers;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import dev.tidepool.diagnostics.SnapshotPage;
import dev.tidepool.spi.support.FailureText;
import dev.tidepool.spi.support.FileErrors;
import java.io.IOException;
import java.io.OutputStream;
import java.net.BindException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.util.Locale;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Shows a program's memory to browsers: the page, and the snapshot that the page requests. The
 * server answers two paths, reads no request bodies and changes nothing.
 *
 * <p>A web site in a browser could map its own host name to this machine and read the answers (DNS
 * rebinding). So a request must name a host that such a site cannot have: an address, {@code
 * localhost}, or the name that this server listens on.
 */
final class PageServer implements AutoCloseable {
  private static final Pattern ADDRESS = Pattern.compile("[0-9.]+|\\[[0-9a-fA-F:.%]+]");

  private final String host;
  private final HttpServer server;
  private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
  private final byte[] page = SnapshotPage.live().getBytes(UTF_8);
  private final Supplier<String> snapshots;

  /**
   * Starts the server.
   *
   * @param host a name or an address of this machine
   * @param port the port, or 0 for any free one
   * @param snapshots returns the JSON form of a new snapshot
   * @throws WrongArguments if the server cannot listen there
   */
  PageServer(String host, int port, Supplier<String> snapshots) {
    this.host = host.toLowerCase(Locale.ROOT);
    this.snapshots = snapshots;
    try {
      server = HttpServer.create(new InetSocketAddress(InetAddress.getByName(host), port), 0);
    } catch (UnknownHostException e) {
      throw new WrongArguments("there is no host " + host + "; give a name of this machine", e);
    } catch (BindException e) {
      throw new WrongArguments(
          "cannot listen on "
              + host
              + ":"
              + port
              + ": "
              + FailureText.of(e)
              + "; give another port",
          e);
    } catch (IOException e) {
      throw new WrongArguments(
          "cannot listen on " + host + ":" + port + ": " + FileErrors.reason(e), e);
    }
    server.setExecutor(threads);
    server.createContext("/", this::answer);
    server.start();
  }

  /** Returns the address of the page. */
  String url() {
    return url(host, port());
  }

  /** Returns the URL of a host; an IPv6 address gets brackets, because it contains colons. */
  static String url(String host, int port) {
    String name = host.indexOf(':') < 0 || host.startsWith("[") ? host : "[" + host + "]";
    return "http://" + name + ":" + port + "/";
  }

  int port() {
    return server.getAddress().getPort();
  }

  private void answer(HttpExchange exchange) throws IOException {
    try (exchange) {
      String method = exchange.getRequestMethod();
      if (!isForUs(exchange.getRequestHeaders().getFirst("Host"))) {
        send(exchange, 403, "text/plain", "this server has another name\n".getBytes(UTF_8));
      } else if (!method.equals("GET") && !method.equals("HEAD")) {
        exchange.getResponseHeaders().set("Allow", "GET, HEAD");
        send(exchange, 405, "text/plain", "only GET and HEAD\n".getBytes(UTF_8));
      } else {
        switch (exchange.getRequestURI().getRawPath()) {
          case "/" -> send(exchange, 200, "text/html", page);
          case "/snapshot.json" -> sendSnapshot(exchange);
          case null, default ->
              send(exchange, 404, "text/plain", "there is no such page\n".getBytes(UTF_8));
        }
      }
    }
  }

  private void sendSnapshot(HttpExchange exchange) throws IOException {
    byte[] json;
    try {
      json = snapshots.get().getBytes(UTF_8);
    } catch (RuntimeException e) {
      send(exchange, 503, "text/plain", "the memory manager is closed\n".getBytes(UTF_8));
      return;
    }
    send(exchange, 200, "application/json", json);
  }

  private boolean isForUs(@Nullable String header) {
    if (header == null) {
      return false;
    }
    String name = header.replaceFirst(":[0-9]*$", "").toLowerCase(Locale.ROOT);
    return name.equals("localhost") || name.equals(host) || ADDRESS.matcher(name).matches();
  }

  private static void send(HttpExchange exchange, int status, String type, byte[] body)
      throws IOException {
    Headers headers = exchange.getResponseHeaders();
    headers.set("Content-Type", type + "; charset=utf-8");
    headers.set("Cache-Control", "no-store");
    headers.set("X-Content-Type-Options", "nosniff");
    headers.set("X-Frame-Options", "DENY");
    headers.set("Referrer-Policy", "no-referrer");
    headers.set("Cross-Origin-Resource-Policy", "same-origin");
    boolean bodyless = exchange.getRequestMethod().equals("HEAD");
    if (bodyless) {
      headers.set("Content-Length", Integer.toString(body.length));
    }
    exchange.sendResponseHeaders(status, bodyless ? -1 : body.length);
    if (!bodyless) {
      try (OutputStream stream = exchange.getResponseBody()) {
        stream.write(body);
      }
    }
  }

  @Override
  public void close() {
    server.stop(0);
    threads.shutdownNow();
  }
}

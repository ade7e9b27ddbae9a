package dev.tidepool.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.fail;
import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assumptions.abort;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.net.http.WebSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;

/** Chromium without a window. */
final class Browser {
  private static final List<String> NAMES =
      List.of("chromium", "chromium-browser", "google-chrome");

  private final Path program;
  private final Path folder;

  private Browser(Path program, Path folder) {
    this.program = program;
    this.folder = folder;
  }

  /**
   * The browser of this machine. Without one the test fails in continuous integration and is
   * skipped elsewhere.
   *
   * @param folder for what it keeps
   */
  static Browser find(Path folder) {
    for (String name : NAMES) {
      Path program = Path.of("/usr/bin", name);
      if (Files.isExecutable(program)) {
        return new Browser(program, folder);
      }
    }
    String message = "SKIPPED: no browser draws the page; install chromium";
    System.err.println(message);
    return "true".equals(System.getenv("CI")) ? fail(message) : abort(message);
  }

  /** The page's elements after its script has run; what the script complains of fails the test. */
  String elements(String url, String... options) throws IOException, InterruptedException {
    List<String> arguments = new ArrayList<>(List.of(options));
    arguments.add("--dump-dom");
    return run(url, arguments);
  }

  /** A picture of the page. */
  Path picture(String url, String... options) throws IOException, InterruptedException {
    Path file = Files.createTempFile(folder, "page", ".png");
    List<String> arguments = new ArrayList<>(List.of(options));
    arguments.add("--screenshot=" + file);
    run(url, arguments);
    return file;
  }

  /** What a script answers that runs in the page; what the page complains of fails the test. */
  String evaluate(String url, String script) throws Exception {
    Path errors = folder.resolve("browser.err");
    Process process = start(url, List.of("--remote-debugging-port=0"), errors);
    try {
      String pages = "http://" + listening(errors) + "/json/list";
      HttpClient client = HttpClient.newHttpClient();
      String list =
          client
              .send(HttpRequest.newBuilder(URI.create(pages)).build(), BodyHandlers.ofString())
              .body();
      String socket =
          JsonParser.parseString(list).getAsJsonArray().asList().stream()
              .map(JsonElement::getAsJsonObject)
              .filter(page -> page.get("type").getAsString().equals("page"))
              .map(page -> page.get("webSocketDebuggerUrl").getAsString())
              .findFirst()
              .orElseThrow();
      return await()
          .atMost(Duration.ofMinutes(1))
          .until(() -> answer(client, URI.create(socket), script), Optional::isPresent)
          .orElseThrow();
    } finally {
      process.destroyForcibly().waitFor();
    }
  }

  private static String listening(Path errors) {
    Pattern address = Pattern.compile("DevTools listening on ws://([^/]+)/");
    return await()
        .atMost(Duration.ofMinutes(1))
        .until(
            () -> address.matcher(Files.readString(errors)).results().findFirst(),
            Optional::isPresent)
        .orElseThrow()
        .group(1);
  }

  /**
   * One request of the DevTools protocol. Empty where the blank page of the start had the script,
   * which ends when the address is loaded.
   */
  private static Optional<String> answer(HttpClient client, URI socket, String script)
      throws Exception {
    CompletableFuture<JsonObject> answer = new CompletableFuture<>();
    StringBuilder text = new StringBuilder();
    WebSocket.Listener listener =
        new WebSocket.Listener() {
          @Override
          public CompletionStage<?> onText(WebSocket from, CharSequence data, boolean last) {
            text.append(data);
            if (last) {
              JsonObject message = JsonParser.parseString(text.toString()).getAsJsonObject();
              text.setLength(0);
              if (message.has("id")) {
                answer.complete(message);
              }
            }
            from.request(1);
            return null;
          }
        };
    JsonObject parameters = new JsonObject();
    parameters.addProperty("expression", script);
    parameters.addProperty("awaitPromise", true);
    parameters.addProperty("returnByValue", true);
    JsonObject request = new JsonObject();
    request.addProperty("id", 1);
    request.addProperty("method", "Runtime.evaluate");
    request.add("params", parameters);
    WebSocket open = client.newWebSocketBuilder().buildAsync(socket, listener).join();
    open.sendText(request.toString(), true).join();
    JsonObject message = answer.get(1, TimeUnit.MINUTES);
    open.abort();
    if (message.has("error")) {
      return Optional.empty();
    }
    JsonObject result = message.getAsJsonObject("result");
    assertThat(result.has("exceptionDetails")).as(result.toString()).isFalse();
    return Optional.of(result.getAsJsonObject("result").get("value").getAsString());
  }

  private String run(String url, List<String> options) throws IOException, InterruptedException {
    Path errors = folder.resolve("browser.err");
    List<String> all = new ArrayList<>(options);
    all.add("--virtual-time-budget=4000");
    Process process = start(url, all, errors);
    try {
      assertThat(process.waitFor(3, TimeUnit.MINUTES)).as("the browser ends").isTrue();
    } finally {
      process.destroyForcibly();
    }
    assertThat(Files.readAllLines(errors)).noneMatch(line -> line.contains(":CONSOLE"));
    return Files.readString(folder.resolve("browser.out"));
  }

  private Process start(String url, List<String> options, Path errors) throws IOException {
    List<String> command = new ArrayList<>();
    command.add(program.toString());
    command.addAll(
        List.of(
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--hide-scrollbars",
            "--window-size=1280,2200",
            "--user-data-dir=" + folder.resolve("profile"),
            "--enable-logging=stderr",
            "--v=0"));
    command.addAll(options);
    command.add(url);
    return new ProcessBuilder(command)
        .redirectOutput(folder.resolve("browser.out").toFile())
        .redirectError(errors.toFile())
        .start();
  }
}

package dev.tidepool.spring.sample;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import dev.tidepool.MemoryOption;
import java.io.BufferedReader;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** Starts the service as a process of its own and asks it by HTTP. */
@DisplayName("A service")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Execution(ExecutionMode.SAME_THREAD)
class SampleServiceTest {
  private static final Pattern PORT = Pattern.compile("Tomcat started on port (\\d+)");

  private final HttpClient http = HttpClient.newHttpClient();
  private final List<String> log = new ArrayList<>();
  private Process process;
  private BufferedReader output;
  private String address = "";

  private static Process start(Path folder, String... further) throws Exception {
    for (String each : List.of("spill", "dumps", "cache")) {
      Files.createDirectory(folder.resolve(each));
    }
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(List.of("-Xmx256m", "-XX:TieredStopAtLevel=1"));
    command.addAll(List.of("-cp", System.getProperty("java.class.path")));
    command.add("-Dsample.folder=" + folder);
    command.addAll(List.of(further));
    ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
    builder.environment().keySet().removeIf(name -> name.startsWith("TIDEPOOL_"));
    return builder.start();
  }

  @BeforeAll
  void start(@TempDir Path folder) throws Exception {
    process =
        start(
            folder,
            "--enable-native-access=ALL-UNNAMED",
            SampleService.class.getName(),
            "--spring.config.location=classpath:sample/application.yaml");
    output = process.inputReader(UTF_8);
    for (String line = output.readLine(); line != null; line = output.readLine()) {
      log.add(line);
      Matcher port = PORT.matcher(line);
      if (port.find()) {
        address = "http://127.0.0.1:" + port.group(1);
        return;
      }
    }
    throw new AssertionError("the service did not start:\n" + String.join("\n", log));
  }

  @AfterAll
  void stop() {
    process.destroyForcibly();
  }

  private HttpResponse<String> send(HttpRequest.Builder request) throws Exception {
    HttpResponse<String> response =
        http.send(request.build(), HttpResponse.BodyHandlers.ofString());
    assertThat(response.statusCode()).as(response.body()).isEqualTo(200);
    return response;
  }

  private HttpResponse<String> get(String path, String accept) throws Exception {
    return send(HttpRequest.newBuilder(URI.create(address + path)).header("Accept", accept));
  }

  private JsonObject json(String path) throws Exception {
    return JsonParser.parseString(get(path, "application/json").body()).getAsJsonObject();
  }

  private String post(String path, String body) throws Exception {
    return send(HttpRequest.newBuilder(URI.create(address + path))
            .header("Content-Type", "application/json")
            .POST(HttpRequest.BodyPublishers.ofString(body)))
        .body();
  }

  @Test
  @DisplayName("computes with the manager that it is given")
  void computes() throws Exception {
    assertThat(post("/double", "[1, 2.5]")).isEqualTo("[2.0,5.0]");
  }

  @Test
  @DisplayName("has every option as its application.yaml sets it")
  void options() throws Exception {
    String options = get("/options", "text/plain").body();
    // Options at their defaults are left out.
    for (MemoryOption<?> option : MemoryOption.all()) {
      assertThat(options).contains(option.key() + "=");
    }
    assertThat(options).contains("trim-interval=PT1M", "watermarks=[0.5, 0.8]");
  }

  @Test
  @DisplayName("tells its health")
  void health() throws Exception {
    JsonObject tidepool =
        json("/actuator/health").getAsJsonObject("components").getAsJsonObject("tidepool");
    assertThat(tidepool.get("status").getAsString()).isEqualTo("UP");
    JsonObject details = tidepool.getAsJsonObject("details");
    assertThat(details.get("accelerator").getAsString()).isEqualTo("cpu:0");
    assertThat(details.get("device").getAsString()).isEqualTo("answers");
    assertThat(details.get("totalBytes").getAsLong()).isEqualTo(256L << 20);
    assertThat(details.get("spillFreeBytes").getAsLong()).isPositive();
  }

  @Test
  @DisplayName("tells its metrics, as JSON and as Prometheus text")
  void metrics() throws Exception {
    post("/double", "[3]");
    assertThat(json("/actuator/metrics/tidepool.buffers.live").get("baseUnit").getAsString())
        .isEqualTo("buffers");
    assertThat(get("/actuator/prometheus", "text/plain").body())
        .contains("tidepool_buffers_allocated_buffers_total{hw_id=\"cpu:0\"");
  }

  @Test
  @DisplayName("shows the snapshot, as a page and as JSON")
  void snapshot() throws Exception {
    JsonObject snapshot = json("/actuator/tidepool");
    assertThat(snapshot.get("tidepool-snapshot").getAsInt()).isEqualTo(1);
    assertThat(snapshot.get("accelerator").getAsString()).isEqualTo("cpu:0");
    HttpResponse<String> page = get("/actuator/tidepool", "text/html,*/*;q=0.8");
    assertThat(page.headers().firstValue("Content-Type").orElse("")).startsWith("text/html");
    assertThat(page.body()).startsWith("<!").contains("tidepool-snapshot");
  }

  @Test
  @DisplayName("reports buffers that are open when it is asked to end")
  void openBuffers(@TempDir Path folder) throws Exception {
    Process other =
        start(
            folder,
            "--enable-native-access=ALL-UNNAMED",
            SampleService.class.getName(),
            "--spring.config.location=classpath:sample/application.yaml");
    try (BufferedReader lines = other.inputReader(UTF_8)) {
      String line = lines.readLine();
      List<String> before = new ArrayList<>();
      while (line != null && !PORT.matcher(line).find()) {
        before.add(line);
        line = lines.readLine();
      }
      assertThat(line).as("%s", before).isNotNull();
      Matcher port = PORT.matcher(line);
      assertThat(port.find()).isTrue();
      send(
          HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port.group(1) + "/forget"))
              .POST(HttpRequest.BodyPublishers.noBody()));
      // SIGTERM; Process.destroy() would close our end of its output as well.
      assertThat(other.toHandle().destroy()).isTrue();
      String rest = String.join("\n", lines.readAllLines());
      assertThat(other.waitFor(30, TimeUnit.SECONDS)).isTrue();
      assertThat(rest)
          .containsOnlyOnce("was open when its manager was closed")
          .containsPattern("WARN .* dev\\.tidepool +: 1 buffer of FLOAT")
          .contains("SampleService");
    } finally {
      other.destroyForcibly();
    }
  }

  @Test
  @DisplayName("with an unknown property does not start, and says which and where")
  void unknownProperty(@TempDir Path folder) throws Exception {
    Process other =
        start(
            folder,
            "-Dtidepool.memory-limt=1g",
            SampleService.class.getName(),
            "--server.port=0",
            "--tidepool.accelerator=cpu:0");
    String text = new String(other.getInputStream().readAllBytes(), UTF_8);
    assertThat(other.waitFor()).isEqualTo(1);
    assertThat(text)
        .contains("APPLICATION FAILED TO START", "tidepool.memory-limt", "'memory-limit'");
  }

  @Test
  @DisplayName("with a driver that Java does not let it open does not start, and says what to do")
  void deniedNativeAccess(@TempDir Path folder) throws Exception {
    Process other =
        start(
            folder,
            "--illegal-native-access=deny",
            SampleService.class.getName(),
            "--server.port=0");
    String text = new String(other.getInputStream().readAllBytes(), UTF_8);
    assertThat(other.waitFor()).isEqualTo(1);
    assertThat(text).contains("APPLICATION FAILED TO START", "--enable-native-access=ALL-UNNAMED");
  }
}

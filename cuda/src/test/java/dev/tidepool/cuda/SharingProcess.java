package dev.tidepool.cuda;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.tidepool.ElementType;
import dev.tidepool.MemoryLocation;
import dev.tidepool.MemoryOptions;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.spi.Discovery;
import dev.tidepool.testkit.cuda.SimulatedCuda;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.Writer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Another process, which shares memory of the device as it is told, line by line: {@code create
 * NAME LENGTH}, {@code open NAME}, {@code write NAME SEED}, {@code read NAME}, {@code close NAME}.
 */
final class SharingProcess implements AutoCloseable {
  private final Process process;
  private final BufferedReader answers;
  private final Writer orders;

  private SharingProcess(Process process) {
    this.process = process;
    this.answers = new BufferedReader(new InputStreamReader(process.getInputStream(), UTF_8));
    this.orders = process.outputWriter(UTF_8);
  }

  static SharingProcess start(SimulatedCuda simulated, Path folder, String... options)
      throws IOException {
    List<String> all = new ArrayList<>(List.of(options));
    all.add("-Dtidepool.cuda.library=" + simulated.driver());
    return start(folder, all);
  }

  /** A process that uses the driver of the machine. */
  static SharingProcess start(Path folder) throws IOException {
    return start(folder, List.of());
  }

  private static SharingProcess start(Path folder, List<String> options) throws IOException {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(options);
    command.addAll(
        List.of(
            "--enable-native-access=ALL-UNNAMED",
            "-Xmx128m",
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            "-cp",
            System.getProperty("java.class.path"),
            SharingProcess.class.getName(),
            folder.toString()));
    return new SharingProcess(new ProcessBuilder(command).redirectErrorStream(true).start());
  }

  long id() {
    return process.pid();
  }

  String tell(String order) throws IOException {
    orders.write(order + "\n");
    orders.flush();
    String answer = answers.readLine();
    while (answer != null && !answer.startsWith("> ")) {
      System.err.println("the other process: " + answer);
      answer = answers.readLine();
    }
    return answer == null ? "ended" : answer.substring(2);
  }

  /** As the system kills: without a word to the process. */
  void kill() throws InterruptedException {
    process.destroyForcibly().waitFor();
  }

  @Override
  public void close() {
    process.destroyForcibly();
  }

  static int[] pattern(int length, int seed) {
    int[] pattern = new int[length];
    for (int i = 0; i < length; i++) {
      pattern[i] = i * 31 + seed;
    }
    return pattern;
  }

  /** In the other process. */
  public static void main(String[] arguments) throws IOException {
    MemoryOptions options = MemoryOptions.builder().sharedDirectory(Path.of(arguments[0])).build();
    BufferedReader orders = new BufferedReader(new InputStreamReader(System.in, UTF_8));
    Map<String, UnifiedBuffer<int[]>> buffers = new HashMap<>();
    try (Tidepool tidepool =
        Discovery.using(List.of(new CudaProvider()), () -> Tidepool.open(options))) {
      UnifiedMemoryManager memory = tidepool.memory(tidepool.accelerator("cuda:0"));
      for (String order = orders.readLine(); order != null; order = orders.readLine()) {
        String[] words = order.split(" ");
        String answer = "done";
        try {
          switch (words[0]) {
            case "create" ->
                buffers.put(
                    words[1],
                    memory.createShared(
                        ElementType.INT,
                        Long.parseLong(words[2]),
                        words[1],
                        MemoryLocation.DEVICE));
            case "open" ->
                buffers.put(
                    words[1], memory.openShared(ElementType.INT, words[1], MemoryLocation.DEVICE));
            case "write" -> {
              UnifiedBuffer<int[]> buffer = buffers.get(words[1]);
              buffer.copyFrom(pattern((int) buffer.length(), Integer.parseInt(words[2])));
            }
            case "read" -> {
              UnifiedBuffer<int[]> buffer = buffers.get(words[1]);
              int[] read = new int[(int) buffer.length()];
              buffer.copyTo(read);
              answer = java.util.Arrays.hashCode(read) + "";
            }
            case "close" -> buffers.remove(words[1]).close();
            default -> throw new IllegalArgumentException(order);
          }
        } catch (RuntimeException failed) {
          answer = failed.toString();
        }
        System.out.println("> " + answer);
      }
    }
  }
}

package dev.tidepool.testkit.cuda;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.Writer;
import java.lang.foreign.Arena;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** A second process that uses the driver: what it does is named by its first argument. */
final class OtherProcess implements AutoCloseable {
  static final long PAGE = 2L << 20;

  private final Process process;
  private final BufferedReader output;

  private OtherProcess(Process process) {
    this.process = process;
    this.output = new BufferedReader(new InputStreamReader(process.getInputStream(), UTF_8));
  }

  static OtherProcess start(Map<String, String> environment, Path folder, String... arguments)
      throws IOException {
    List<String> command =
        new ArrayList<>(
            List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:-CreateCoredumpOnCrash",
                "-XX:+UseSerialGC",
                "--enable-native-access=ALL-UNNAMED",
                "-cp",
                classPath(),
                OtherProcess.class.getName()));
    command.addAll(List.of(arguments));
    ProcessBuilder builder =
        new ProcessBuilder(command).directory(folder.toFile()).redirectErrorStream(true);
    builder.environment().putAll(environment);
    return new OtherProcess(builder.start());
  }

  private static String classPath() {
    return Stream.of(System.getProperty("java.class.path").split(File.pathSeparator))
        .map(entry -> Path.of(entry).toAbsolutePath().toString())
        .collect(Collectors.joining(File.pathSeparator));
  }

  String readLine() throws IOException {
    return output.readLine();
  }

  void goOn() throws IOException {
    Writer input = process.outputWriter(UTF_8);
    input.write("\n");
    input.flush();
  }

  int exitCode() throws IOException, InterruptedException {
    output.transferTo(Writer.nullWriter());
    if (!process.waitFor(60, TimeUnit.SECONDS)) {
      throw new AssertionError("the other process does not end");
    }
    return process.exitValue();
  }

  @Override
  public void close() {
    process.destroyForcibly();
  }

  /** A handle of another process's memory, as the driver wants it. */
  static Driver.ByValue handle(Arena arena, String hex) {
    MemorySegment value = arena.allocateFrom(ValueLayout.JAVA_BYTE, HexFormat.of().parseHex(hex));
    return new Driver.ByValue(
        MemoryLayout.structLayout(MemoryLayout.sequenceLayout(64, ValueLayout.JAVA_BYTE)), value);
  }

  static MemorySegment properties(Arena arena) {
    MemorySegment properties = arena.allocate(32, 8);
    properties.set(ValueLayout.JAVA_INT, 0, 1); // pinned
    properties.set(ValueLayout.JAVA_INT, 4, 1); // exportable as a file descriptor
    properties.set(ValueLayout.JAVA_INT, 8, 1); // on a device, the first
    return properties;
  }

  static long map(Driver cuda, Arena arena, long memory) {
    long address = cuda.get("cuMemAddressReserve", PAGE, 0L, 0L, 0L);
    cuda.must("cuMemMap", address, PAGE, 0L, memory, 0L);
    MemorySegment access = arena.allocateFrom(ValueLayout.JAVA_INT, 1, 0, 3);
    cuda.must("cuMemSetAccess", address, PAGE, access, 1L);
    return address;
  }

  private static void launchNothing(
      SimulatedCuda simulation, Driver cuda, Arena arena, long stream) {
    Driver nvrtc = new Driver(simulation.compiler());
    MemorySegment out = arena.allocate(ValueLayout.JAVA_LONG);
    MemorySegment source = Driver.text(arena, "extern \"C\" __global__ void f() {}");
    nvrtc.must(
        "nvrtcCreateProgram",
        out,
        source,
        MemorySegment.NULL,
        0,
        MemorySegment.NULL,
        MemorySegment.NULL);
    long program = out.get(ValueLayout.JAVA_LONG, 0);
    nvrtc.must("nvrtcCompileProgram", program, 0, MemorySegment.NULL);
    nvrtc.must("nvrtcGetPTXSize", program, out);
    MemorySegment ptx = arena.allocate(out.get(ValueLayout.JAVA_LONG, 0));
    nvrtc.must("nvrtcGetPTX", program, ptx);
    long module = cuda.get("cuModuleLoadDataEx", ptx, 0, MemorySegment.NULL, MemorySegment.NULL);
    long kernel = cuda.get("cuModuleGetFunction", module, Driver.text(arena, "f"));
    cuda.must(
        "cuLaunchKernel",
        kernel,
        1,
        1,
        1,
        1,
        1,
        1,
        0,
        stream,
        MemorySegment.NULL,
        MemorySegment.NULL);
  }

  /** In the other process. */
  public static void main(String[] arguments) throws IOException {
    SimulatedCuda simulation = SimulatedCuda.find().orElseThrow();
    Driver cuda = new Driver(simulation.driver());
    cuda.must("cuInit", 0);
    cuda.must("cuCtxSetCurrent", cuda.retain(0));
    try (Arena arena = Arena.ofConfined()) {
      switch (arguments[0]) {
        case "touch" -> // as no host may
            MemorySegment.ofAddress(cuda.allocate(4096))
                .reinterpret(4096)
                .get(ValueLayout.JAVA_BYTE, 0);
        case "share" -> { // managed memory, with kernels that run or do not
          long memory = cuda.get("cuMemAllocManaged", 4096L, 1);
          MemorySegment host = MemorySegment.ofAddress(memory).reinterpret(4096);
          long stream = cuda.stream();
          Gate.closed(cuda, stream);
          launchNothing(simulation, cuda, arena, stream);
          host.get(ValueLayout.JAVA_BYTE, 0);
          System.out.println("touched");
          System.out.flush();
          Runtime.getRuntime().halt(0);
        }
        case "leak" -> {
          System.out.println(
              cuda.get("cuDeviceGetCount") + " " + cuda.get("cuDeviceTotalMem_v2", 1));
          cuda.allocate(777);
        }
        case "open" -> {
          long memory = cuda.get("cuIpcOpenMemHandle_v2", handle(arena, arguments[1]), 1);
          System.out.println(HexFormat.of().formatHex(cuda.read(memory, 16)));
          System.in.read();
          cuda.write(memory, new byte[] {1, 2, 3});
          cuda.must("cuIpcCloseMemHandle", memory);
          System.out.println(simulation.violations());
        }
        case "export" -> {
          long memory = cuda.get("cuMemCreate", PAGE, properties(arena), 0L);
          cuda.write(map(cuda, arena, memory), Driver.pattern(64));
          MemorySegment descriptor = arena.allocate(ValueLayout.JAVA_INT);
          cuda.must("cuMemExportToShareableHandle", descriptor, memory, 1, 0L);
          System.out.println(
              "/proc/%d/fd/%d"
                  .formatted(
                      ProcessHandle.current().pid(), descriptor.get(ValueLayout.JAVA_INT, 0)));
          System.in.read();
        }
        default -> throw new IllegalArgumentException(arguments[0]);
      }
    }
  }
}

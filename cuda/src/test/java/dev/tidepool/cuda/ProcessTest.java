package dev.tidepool.cuda;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.KernelSource;
import dev.tidepool.Tidepool;
import dev.tidepool.spi.Block;
import dev.tidepool.spi.BlockKind;
import dev.tidepool.spi.Device;
import dev.tidepool.spi.Discovery;
import dev.tidepool.spi.Queue;
import dev.tidepool.testkit.fault.AtShutdown;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What can be decided only once in a process, each in a virtual machine of its own. */
class ProcessTest {
  @TempDir private Path folder;

  private static String run(Class<?> main, List<String> options)
      throws IOException, InterruptedException {
    return run(main, options, Map.of());
  }

  private static String run(Class<?> main, List<String> options, Map<String, String> environment)
      throws IOException, InterruptedException {
    List<String> command =
        new ArrayList<>(
            List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--enable-native-access=ALL-UNNAMED",
                "-Xmx256m",
                "-cp",
                System.getProperty("java.class.path")));
    command.addAll(options);
    command.add(main.getName());
    ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
    builder.environment().keySet().removeAll(List.of("CUDA_HOME", "CUDA_PATH", "TIDEPOOL_NVRTC"));
    builder.environment().putAll(environment);
    Process process = builder.start();
    String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(process.waitFor()).as(output).isZero();
    return output;
  }

  private List<String> simulated(String... more) {
    var simulated = Simulation.with(1);
    List<String> options = new ArrayList<>();
    options.add("-Dtidepool.cuda.library=" + simulated.driver());
    options.add("-Dtidepool.cuda.cache=" + folder);
    options.addAll(List.of(more));
    return options;
  }

  @Test
  void withoutADriverThereIsANoteAndNothingElseChanges() throws Exception {
    assertThat(run(ListAccelerators.class, List.of("-Dtidepool.cuda.library=libabsent.so")))
        .contains("accelerators: [cpu:0]")
        .contains(
            "no CUDA driver library (tried libabsent.so); check the property"
                + " tidepool.cuda.library");
  }

  @Test
  void aLibraryThatIsNoDriverIsANote() throws Exception {
    String other = Path.of(System.getProperty("java.home"), "lib", "libzip.so").toString();
    assertThat(run(ListAccelerators.class, List.of("-Dtidepool.cuda.library=" + other)))
        .contains("accelerators: [cpu:0]")
        .contains("this CUDA driver library has no cuDriverGetVersion");
  }

  /** Prints what a Tidepool of this machine has. */
  static final class ListAccelerators {
    public static void main(String[] arguments) {
      try (Tidepool tidepool = Discovery.using(List.of(new CudaProvider()), Tidepool::open)) {
        System.out.println(
            "accelerators: " + tidepool.accelerators().stream().map(a -> a.id()).toList());
        tidepool.notes().forEach(System.out::println);
      }
    }
  }

  @Test
  void withoutNvrtcTheMemorySideWorksAndTheMessageSaysHowToGetKernels() throws Exception {
    Files.createDirectory(folder.resolve("empty"));
    assertThat(run(WithoutCompiler.class, simulated("-Dtidepool.nvrtc=" + folder.resolve("empty"))))
        .contains("notes: [no NVRTC at " + folder.resolve("empty"))
        .contains("filled")
        .contains("'y = x + y' cannot be compiled: no NVRTC")
        .contains("pip install nvidia-cuda-nvrtc-cu12");
  }

  @ParameterizedTest
  @CsvSource({
    "CUDA_HOME, toolkit, toolkit/lib64/libnvrtc.so.13",
    "LD_LIBRARY_PATH, loaded, loaded/libnvrtc.so.13",
    "VIRTUAL_ENV, venv, venv/lib/python3.12/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.13"
  })
  void nvrtcIsFoundWhereItIsUsuallyInstalled(String variable, String named, String place)
      throws Exception {
    Path library = folder.resolve(place);
    Files.createDirectories(library.getParent());
    Files.createSymbolicLink(library, Simulation.with(1).compiler());
    String environment = folder.resolve(named).toString();
    assertThat(run(WithoutCompiler.class, simulated(), Map.of(variable, environment)))
        .contains("notes: []")
        .contains("compiled");
  }

  @Test
  void whatWasCompiledBeforeRunsWithoutNvrtc() throws Exception {
    Files.createDirectory(folder.resolve("empty"));
    String compiler = Simulation.with(1).compiler().toString();
    assertThat(run(WithoutCompiler.class, simulated("-Dtidepool.nvrtc=" + compiler)))
        .contains("compiled");
    assertThat(run(WithoutCompiler.class, simulated("-Dtidepool.nvrtc=" + folder.resolve("empty"))))
        .contains("notes: [no NVRTC at ")
        .contains("compiled");
  }

  /** Fills a block, and tries an expression. */
  static final class WithoutCompiler {
    public static void main(String[] arguments) {
      Discovery found = new CudaProvider().discover();
      System.out.println("notes: " + found.notes());
      try (Device device = found.devices().getFirst();
          Queue queue = device.createQueue()) {
        Block block = device.allocate(64, 64, BlockKind.DEVICE);
        Bytes.await(queue.fill(block, 0, 64, (byte) 1));
        System.out.println(
            new Bytes(device, queue).read(block, 0, 64)[63] == 1 ? "filled" : "wrong");
        block.free();
        device
            .compile(
                KernelSource.elementwise("y = x + y"),
                List.of(
                    dev.tidepool.KernelParameter.in("x", dev.tidepool.ElementType.FLOAT),
                    dev.tidepool.KernelParameter.inout("y", dev.tidepool.ElementType.FLOAT)))
            .close();
        System.out.println("compiled");
      } catch (UnsupportedOperationException expected) {
        System.out.println(expected.getMessage());
      }
    }
  }

  @Test
  void closingDuringShutdownCallsNoDriverAndIsNoError() throws Exception {
    assertThat(run(CloseInAHook.class, simulated()))
        .contains("command: cuCtxPushCurrent_v2: the virtual machine is shutting down")
        .contains("closed, 1 queues are left to the process's end")
        .doesNotContain("Exception in thread")
        .doesNotContain("failed while closing");
  }

  /** Leaves everything open until the shutdown hooks run. */
  static final class CloseInAHook {
    public static void main(String[] arguments) {
      AtShutdown.use(
          new CudaProvider().discover().devices().getFirst(),
          () -> ObjectKind.LIVE.count(ObjectKind.STREAM));
    }
  }
}

package dev.tidepool.lz4;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.abort;

import dev.tidepool.Accelerator;
import dev.tidepool.Capability;
import dev.tidepool.KernelSource;
import dev.tidepool.UnifiedMemoryManager;
import java.io.File;
import java.io.IOException;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** NVIDIA's nvcc takes the CUDA C++ of the kernel that decodes blocks. */
@Timeout(300)
class DecoderKernelTest {
  @Test
  void nvccCompilesTheDecoder(@TempDir Path folder) throws IOException, InterruptedException {
    if (Stream.of(System.getenv().getOrDefault("PATH", "").split(File.pathSeparator))
        .noneMatch(part -> Files.isExecutable(Path.of(part, "nvcc")))) {
      String message = "NO NVCC ON THE PATH: the LZ4 decoder is not compiled for CUDA";
      System.err.println(message);
      abort(message);
    }
    Path input = Files.writeString(folder.resolve("kernel.cu"), source());
    Path output = folder.resolve("kernel.ptx");
    Path messages = folder.resolve("messages");
    Process nvcc =
        new ProcessBuilder(
                "nvcc",
                "-ptx",
                "-Werror",
                "all-warnings",
                "-o",
                output.toString(),
                input.toString())
            .redirectErrorStream(true)
            .redirectOutput(messages.toFile())
            .start();
    try {
      assertThat(nvcc.waitFor(200, TimeUnit.SECONDS)).as("nvcc ends").isTrue();
    } finally {
      nvcc.destroyForcibly();
    }
    assertThat(nvcc.exitValue()).as(Files.readString(messages)).isZero();
    assertThat(Files.readString(output)).containsOnlyOnce(".visible .entry decode_blocks(");
  }

  /** What the decoder compiles where an accelerator takes CUDA C++. */
  private static String source() {
    List<KernelSource> compiled = new ArrayList<>();
    Accelerator accelerator =
        proxy(Accelerator.class, (_, _, _) -> Set.of(Capability.CUDA_KERNELS));
    UnifiedMemoryManager memory =
        proxy(
            UnifiedMemoryManager.class,
            (_, method, arguments) -> {
              if (method.getName().equals("accelerator")) {
                return accelerator;
              }
              compiled.add((KernelSource) arguments[0]);
              return null;
            });
    assertThat(Lz4DeviceDecoder.of(memory)).isPresent();
    return ((KernelSource.Cuda) compiled.getFirst()).source();
  }

  private static <T> T proxy(Class<T> type, InvocationHandler handler) {
    return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, handler));
  }
}

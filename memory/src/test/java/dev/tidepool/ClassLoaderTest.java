package dev.tidepool;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.stream.NpyHeader;
import dev.tidepool.stream.NpyType;
import dev.tidepool.stream.NpyWriter;
import java.lang.invoke.MethodHandles;
import java.lang.ref.WeakReference;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * An application server loads the library in a class loader of each application, and drops the
 * loader with the application: nothing that has ended keeps it.
 */
class ClassLoaderTest {
  @Timeout(120)
  @ParameterizedTest
  @ValueSource(
      strings = {
        "buffers",
        "expression",
        "shared",
        "file",
        "outerMethod",
        "shutdown",
        "forgotten",
        "forgottenAndLoaderClosed"
      })
  void aLoaderIsUnloaded(String use) throws Exception {
    Process process =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--enable-native-access=ALL-UNNAMED",
                // The virtual machine itself refers to what it made for a class, softly.
                "-XX:SoftRefLRUPolicyMSPerMB=0",
                // Kernels start no threads, which would live for half a minute.
                "-XX:ActiveProcessorCount=1",
                "-cp",
                System.getProperty("java.class.path"),
                Host.class.getName(),
                use)
            .redirectErrorStream(true)
            .start();
    try {
      String output = new String(process.getInputStream().readAllBytes());
      assertThat(output).endsWith("unloaded\n");
    } finally {
      process.destroyForcibly().waitFor();
    }
  }

  /** A kernel of a class whose loader is not the library's. */
  public static final class OuterKernel {
    private OuterKernel() {}

    /** Doubles an element. */
    public static void twice(int i, float[] x) {
      x[i] = 2 * x[i];
    }
  }

  /** The server. */
  static final class Host {
    private Host() {}

    public static void main(String[] arguments) throws Exception {
      WeakReference<ClassLoader> loader = loaderAfter(arguments[0]);
      for (int i = 0; loader.get() != null && i < 200; i++) {
        System.gc();
        Thread.sleep(50);
      }
      System.out.print(loader.get() == null ? "unloaded\n" : "still there\n");
    }

    private static WeakReference<ClassLoader> loaderAfter(String use) throws Exception {
      List<URL> urls = new ArrayList<>();
      for (String entry : System.getProperty("java.class.path").split(java.io.File.pathSeparator)) {
        urls.add(Path.of(entry).toUri().toURL());
      }
      ClassLoader platform = ClassLoader.getPlatformClassLoader();
      URLClassLoader loader = new URLClassLoader(urls.toArray(URL[]::new), platform);
      Thread.currentThread().setContextClassLoader(loader);
      try {
        Class.forName(Application.class.getName(), true, loader)
            .getMethod("run", String.class, Class.class)
            .invoke(null, use, OuterKernel.class);
      } finally {
        Thread.currentThread().setContextClassLoader(platform);
      }
      if (use.endsWith("LoaderClosed")) {
        loader.close();
      }
      return new WeakReference<>(loader);
    }
  }

  /** The application. */
  public static final class Application {
    private Application() {}

    /** Uses the library. */
    public static void run(String use, Class<?> outer) throws Exception {
      switch (use) {
        case "forgotten", "forgottenAndLoaderClosed" ->
            UnifiedMemoryManager.create("cpu:0").copyOf(new float[8]).fill((byte) 1);
        case "shutdown" -> assertThat(dev.tidepool.spi.Shutdown.hasBegun()).isFalse();
        case "file" -> writeFile();
        default -> {
          try (UnifiedMemoryManager memory = UnifiedMemoryManager.create("cpu:0");
              UnifiedBuffer<float[]> x = memory.copyOf(new float[1 << 16])) {
            useBuffer(use, outer, memory, x);
          }
        }
      }
    }

    private static void useBuffer(
        String use, Class<?> outer, UnifiedMemoryManager memory, UnifiedBuffer<float[]> x) {
      switch (use) {
        case "buffers" -> x.fill((byte) 1);
        case "expression" ->
            memory.compile(KernelSource.elementwise("x = 2 * x")).execute(Arguments.of("x", x));
        case "shared" ->
            memory.createShared(ElementType.FLOAT, 8, "loader-" + System.nanoTime()).close();
        case "outerMethod" -> memory.compile(method(outer)).execute(Arguments.inOrder(x));
        default -> throw new IllegalArgumentException(use);
      }
    }

    private static KernelSource method(Class<?> outer) {
      return KernelSource.method(MethodHandles.publicLookup().in(outer), "twice");
    }

    private static void writeFile() throws Exception {
      Path folder = Files.createTempDirectory("tidepool");
      Path file = folder.resolve("x.npy");
      NpyHeader header = NpyHeader.of(NpyType.of(ElementType.FLOAT), false, List.of(0L));
      try (NpyWriter writer = NpyWriter.create(file, header, false)) {
        writer.commit();
      }
      Files.delete(file);
      Files.delete(folder);
    }
  }
}

package dev.tidepool;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.lang.invoke.MethodHandles;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A kernel whose class file has no names. */
class NamelessKernelTest {
  private static final String SOURCE =
      """
      public class Kernels {
        public static void twice(int i, int[] x, int[] y) { y[i] = 2 * x[i]; }
      }
      """;

  @Test
  void messagesSayHowToGiveArgumentsWithoutNames(@TempDir Path folder)
      throws IOException, ReflectiveOperationException {
    Path source = Files.writeString(folder.resolve("Kernels.java"), SOURCE);
    assertThat(
            ToolProvider.getSystemJavaCompiler()
                .run(null, null, null, "-g:none", "-d", folder.toString(), source.toString()))
        .isZero();
    try (URLClassLoader loader = new URLClassLoader(new URL[] {folder.toUri().toURL()});
        Tidepool tidepool = Tidepool.open()) {
      Class<?> owner = loader.loadClass("Kernels");
      MethodHandles.Lookup lookup = MethodHandles.privateLookupIn(owner, MethodHandles.lookup());
      Kernel kernel =
          tidepool
              .memory(tidepool.accelerator("cpu:0"))
              .compile(KernelSource.method(lookup, "twice"));
      int[] x = {1, 2, 3};
      int[] y = new int[3];
      assertThatThrownBy(() -> kernel.execute(Arguments.of("x", x, "y", y)))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("takes arg0, arg1")
          .hasMessageContaining("compile it with -g or -parameters")
          .hasMessageContaining("Arguments.inOrder");
      kernel.execute(Arguments.inOrder(x, y));
      assertThat(y).containsExactly(2, 4, 6);
    }
  }
}

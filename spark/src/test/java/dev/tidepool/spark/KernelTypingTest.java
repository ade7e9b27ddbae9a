package dev.tidepool.spark;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.tidepool.KernelMethod;
import java.io.IOException;
import java.net.URISyntaxException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What columns a kernel takes, without a session of Spark. */
class KernelTypingTest {
  private static final String SOURCE =
      """
      public class Nameless {
        @dev.tidepool.KernelMethod
        public static void twice(int i, float[] x, float[] y) { y[i] = 2 * x[i]; }
      }
      """;

  @Test
  void aMessageAboutAKernelWithoutNamesSaysHowToCompileIt(@TempDir Path folder)
      throws IOException, ReflectiveOperationException, URISyntaxException {
    Path source = Files.writeString(folder.resolve("Nameless.java"), SOURCE);
    Path library =
        Path.of(KernelMethod.class.getProtectionDomain().getCodeSource().getLocation().toURI());
    assertThat(
            ToolProvider.getSystemJavaCompiler()
                .run(
                    null,
                    null,
                    null,
                    "-g:none",
                    "-proc:none",
                    "-cp",
                    library.toString(),
                    "-d",
                    folder.toString(),
                    source.toString()))
        .isZero();
    Thread thread = Thread.currentThread();
    ClassLoader before = thread.getContextClassLoader();
    try (URLClassLoader loader = new URLClassLoader(new URL[] {folder.toUri().toURL()})) {
      // Spark has the job's classes in this one.
      thread.setContextClassLoader(loader);
      ColumnKernel kernel = ColumnKernel.method("Nameless", "twice");
      KernelTyping typing = new KernelTyping(kernel, Map.of("x", ColumnType.FLOAT));
      assertThatIllegalArgumentException()
          .isThrownBy(typing::typed)
          .withMessageContaining("reads 'arg0'")
          .withMessageEndingWith(
              ": the class file has no names of parameters; compile it with -g or -parameters");
    } finally {
      thread.setContextClassLoader(before);
    }
  }
}

package dev.tidepool;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.spi.Discovery;
import java.net.URI;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import javax.tools.Diagnostic;
import javax.tools.DiagnosticCollector;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What is no array of primitives is refused by the compiler, and by an exception with advice. */
class RefusedCopiesTest {
  private static final Allocation TAGGED = Allocation.at(MemoryLocation.HOST).tag("t");

  record Point(float x, float y) {}

  @TempDir Path classes;

  private List<String> errors(String statement) {
    String source =
        """
        import dev.tidepool.*;
        class Program {
          record Point(float x, float y) {}
          static final Allocation TAGGED = Allocation.at(MemoryLocation.HOST).tag("t");
          static void run(UnifiedMemoryManager memory, float[] floats) {
            %s
          }
        }
        """
            .formatted(statement);
    DiagnosticCollector<JavaFileObject> found = new DiagnosticCollector<>();
    List<String> options =
        List.of(
            "-d",
            classes.toString(),
            "-classpath",
            Path.of("target", "classes").toString(),
            "-proc:none",
            "-Xlint:none");
    JavaFileObject file =
        new SimpleJavaFileObject(URI.create("string:///Program.java"), JavaFileObject.Kind.SOURCE) {
          @Override
          public CharSequence getCharContent(boolean ignoreEncodingErrors) {
            return source;
          }
        };
    ToolProvider.getSystemJavaCompiler()
        .getTask(null, null, found, options, null, List.of(file))
        .call();
    return found.getDiagnostics().stream()
        .filter(each -> each.getKind() == Diagnostic.Kind.ERROR)
        .map(each -> each.getMessage(Locale.ROOT))
        .toList();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "try (var b = memory.copyOf(3)) {}",
        "UnifiedBuffer<Float> b = memory.copyOf(2.5f);",
        "var b = memory.copyOf('c');",
        "var b = memory.copyOf(1L << 40);",
        "UnifiedBuffer<float[][]> b = memory.copyOf(new float[2][3]);",
        "var b = memory.copyOf(new Point[2]);",
        "var b = memory.copyOf(3, TAGGED);",
        "var b = memory.copyOf(new float[2][3], TAGGED);",
      })
  void noBufferOfThemCompiles(String statement) {
    assertThat(errors(statement)).singleElement().asString().contains("void");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "UnifiedBuffer<float[]> b = memory.copyOf(floats);",
        "try (var b = memory.copyOf(new boolean[3], TAGGED)) { boolean[] a = new boolean[3];"
            + " b.copyTo(a); }",
        "java.util.function.Function<long[], UnifiedBuffer<long[]>> f = memory::copyOf;",
      })
  void arraysOfPrimitivesCompile(String statement) {
    assertThat(errors(statement)).isEmpty();
  }

  @Test
  void calledAllTheSameTheyThrowWithAdvice() {
    try (UnifiedMemoryManager memory =
        Discovery.using(List.of(), () -> UnifiedMemoryManager.create())) {
      assertThatThrownBy(() -> memory.copyOf(new char[3]))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("UNSIGNED_SHORT");
      assertThatThrownBy(() -> memory.copyOf(null)).isInstanceOf(NullPointerException.class);
      assertThatThrownBy(() -> memory.copyOf(3, TAGGED))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("array of one element");
      assertThatThrownBy(() -> memory.copyOf(new float[2][3]))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("each row to its slice");
      assertThatThrownBy(() -> memory.copyOf(new Point[1], TAGGED))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("ElementType.struct(Point.class)");
      assertThat(memory.statistics().totalAllocations()).isZero();
    }
  }
}

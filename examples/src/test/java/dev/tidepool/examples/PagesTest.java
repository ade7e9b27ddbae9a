package dev.tidepool.examples;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.Set;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import javax.tools.Diagnostic;
import javax.tools.DiagnosticCollector;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.ToolProvider;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Compiles every piece of Java on the pages for users and in snippets of the Javadoc. */
@DisplayName("The pieces of Java on the pages")
class PagesTest {
  private static final Path PROJECT =
      Files.isDirectory(Path.of("docs")) ? Path.of("") : Path.of("..");
  private static final String FENCE = "```";

  /** A link to a file of the project, or to a heading of one: {@code [text](file#heading)}. */
  private static final Pattern LINK =
      Pattern.compile("\\]\\((?!https?:)([^)#\\s]*)(#[^)\\s]+)?\\)");

  private static final Pattern CODE = Pattern.compile("`[^`]+`");

  /** A name of two words or more. */
  private static final Pattern TYPE = Pattern.compile("\\b[A-Z][a-z]+[A-Z]\\w+");

  private static final Pattern HEADING = Pattern.compile("(?m)^#+ (.+)$");

  /** What the pages say is there, and what pieces take from the text around them. */
  private static final String AROUND =
      """
      import static org.assertj.core.api.Assertions.assertThat;
      import dev.tidepool.*;
      import dev.tidepool.diagnostics.*;
      import dev.tidepool.host.*;
      import dev.tidepool.interop.*;
      import dev.tidepool.pooling.*;
      import dev.tidepool.stream.*;
      import dev.tidepool.testkit.cuda.SimulatedCuda;
      import dev.tidepool.testkit.metal.SimulatedMetal;
      import dev.tidepool.transfer.*;
      import java.lang.foreign.*;
      import java.lang.invoke.MethodHandles;
      import java.nio.file.Path;
      import java.time.Duration;
      import java.util.*;
      abstract class Piece {
        Tidepool tidepool;
        UnifiedMemoryManager memory;
        UnifiedMemoryManager first;
        UnifiedMemoryManager last;
        PeerAccess peers;
        UnifiedBuffer<float[]> whole;
        UnifiedBuffer<double[]> column;
        MemorySegment memoryOfALibrary;
        long deviceAddress;
        interface Library {
          void release(MemorySegment memory);
          void take(long tensor);
          void take(long array, long schema);
          long tensor();
          long array();
          long schema();
        }
        Library library;
        static final class Kernels {
          static void twice(WorkItem item, float[] x, float[] y) {}
        }
        record Scattered(boolean alive, double mass, byte kind, float charge, short age) {}
      """;

  @TempDir Path classes;

  /** A piece as a file, which knows where it stands. */
  private static final class Piece extends SimpleJavaFileObject {
    private final Path page;
    private final int firstLine;
    private final String source;
    private final int linesBefore;

    Piece(int number, Path page, int firstLine, List<String> lines) {
      super(URI.create("string:///piece" + number + "/Piece.java"), Kind.SOURCE);
      this.page = page;
      this.firstLine = firstLine;
      String before = "package piece" + number + ";\n";
      String body = String.join("\n", lines);
      if (lines.getFirst().startsWith("import ")) {
        linesBefore = 1;
        source = before + body;
      } else {
        List<String> members = lines.stream().filter(Piece::isMember).toList();
        String statements =
            String.join("\n", lines.stream().map(line -> isMember(line) ? "" : line).toList());
        before += AROUND + String.join("\n", members);
        before += members.isEmpty() ? "" : "\nParticle[] particles;\n";
        before += "\nvoid run() throws Exception {\n";
        linesBefore = (int) before.lines().count();
        source = before + statements + "\n}\n}\n";
      }
    }

    /** Whether a line cannot stand in a method. */
    private static boolean isMember(String line) {
      return line.startsWith("public record ");
    }

    @Override
    public CharSequence getCharContent(boolean ignoreEncodingErrors) {
      return source;
    }

    String place(long line) {
      return page.getFileName() + ":" + (firstLine + line - linesBefore);
    }
  }

  /** The README and all pages below {@code docs}. */
  private static List<Path> pages() throws IOException {
    List<Path> pages = new ArrayList<>(List.of(PROJECT.resolve("README.md")));
    try (var docs = Files.walk(PROJECT.resolve("docs"))) {
      docs.filter(file -> file.toString().endsWith(".md")).sorted().forEach(pages::add);
    }
    return pages;
  }

  /** The snippets in the Javadoc of the library. */
  private static List<Piece> snippets() throws IOException {
    List<Piece> pieces = new ArrayList<>();
    List<Path> sources;
    try (var files = Files.walk(PROJECT.resolve("memory/src/main/java"))) {
      sources = files.filter(file -> file.toString().endsWith(".java")).sorted().toList();
    }
    for (Path source : sources) {
      List<String> lines = Files.readAllLines(source);
      for (int i = 0; i < lines.size(); i++) {
        if (lines.get(i).endsWith("* {@snippet :")) {
          String margin = lines.get(i).substring(0, lines.get(i).indexOf("*") + 1);
          int end = i + 1;
          // The brace that ends the snippet closes the one before @snippet.
          for (int open = 1 + braces(lines.get(end)); open > 0; open += braces(lines.get(end))) {
            end++;
          }
          List<String> code =
              lines.subList(i + 1, end).stream()
                  .map(line -> line.substring(Math.min(line.length(), margin.length() + 1)))
                  .toList();
          pieces.add(new Piece(1000 + pieces.size(), source, i + 1, code));
          i = end;
        }
      }
    }
    return pieces;
  }

  /** The braces that a line opens, less those that it closes. */
  private static int braces(String line) {
    return line.chars().map(c -> c == '{' ? 1 : c == '}' ? -1 : 0).sum();
  }

  @Test
  void of_the_Javadoc_are_understood_by_the_compiler() throws IOException {
    List<Piece> snippets = snippets();
    assertThat(snippets)
        .extracting(piece -> piece.page.getFileName().toString())
        .contains(
            "Accelerator.java",
            "Allocation.java",
            "Arguments.java",
            "ArrayPool.java",
            "ComputeOrchestrator.java",
            "ElementType.java",
            "ExecutionOptions.java",
            "HostMapping.java",
            "Kernel.java",
            "KernelParameter.java",
            "KernelSource.java",
            "LaunchRange.java",
            "MemoryAllocator.java",
            "MemoryOperations.java",
            "MemoryOptions.java",
            "ObjectPool.java",
            "ObjectPoolOptions.java",
            "PeerAccess.java",
            "Pipeline.java",
            "SharedMemory.java",
            "StreamOptions.java",
            "StructOfArrays.java",
            "Tidepool.java",
            "TransferEngine.java",
            "TransferOptions.java",
            "UnifiedBuffer.java",
            "UnifiedMemoryManager.java");
    assertThat(errors(snippets)).isEmpty();
  }

  private static List<Piece> pieces() throws IOException {
    List<Piece> pieces = new ArrayList<>();
    for (Path page : pages()) {
      if (page.endsWith("spark.md")) {
        // Needs Spark: the module spark/ runs the program of that page.
        continue;
      }
      List<String> lines = Files.readAllLines(page);
      for (int i = 0; i < lines.size(); i++) {
        if (lines.get(i).equals(FENCE + "java")) {
          int end = i + 1;
          while (!lines.get(end).equals(FENCE)) {
            end++;
          }
          pieces.add(new Piece(pieces.size(), page, i + 1, lines.subList(i + 1, end)));
          i = end;
        }
      }
    }
    return pieces;
  }

  @Test
  void are_understood_by_the_compiler() throws IOException {
    List<Piece> pieces = pieces();
    assertThat(pieces).hasSizeGreaterThan(30);
    assertThat(errors(pieces)).isEmpty();
  }

  @Test
  void are_taken_from_every_page_of_the_guide() throws IOException {
    assertThat(pieces())
        .extracting(piece -> piece.page.getFileName().toString())
        .contains(
            "README.md",
            "start.md",
            "buffers.md",
            "kernels.md",
            "files.md",
            "devices.md",
            "interop.md",
            "operating.md",
            "options.md",
            "statistics.md");
  }

  @Test
  void stand_on_pages_whose_links_lead_to_a_heading_or_a_file() throws IOException {
    List<Path> pages = new ArrayList<>(pages());
    for (String other : List.of("CONTRIBUTING.md", "SECURITY.md", "examples/README.md")) {
      pages.add(PROJECT.resolve(other));
    }
    List<String> links = new ArrayList<>();
    List<String> broken = new ArrayList<>();
    for (Path page : pages) {
      Matcher link = LINK.matcher(withoutCode(Files.readString(page)));
      while (link.find()) {
        links.add(link.group());
        if (!leadsSomewhere(page, link.group(1), link.group(2))) {
          broken.add(page.getFileName() + ": " + link.group());
        }
      }
    }
    assertThat(links).hasSizeGreaterThan(100);
    assertThat(broken).isEmpty();
  }

  @Test
  void stand_on_pages_whose_broken_links_are_found() throws IOException {
    Path page = PROJECT.resolve("docs/guide.md");
    assertThat(leadsSomewhere(page, "guide/start.md", "#the-first-program")).isTrue();
    assertThat(leadsSomewhere(page, "", "#where-the-bytes-are")).isTrue();
    assertThat(leadsSomewhere(page, "guide/start.md", "#no-such-heading")).isFalse();
    assertThat(leadsSomewhere(page, "guide/absent.md", null)).isFalse();
  }

  @Test
  void stand_beside_a_page_on_architecture_whose_classes_exist() throws IOException {
    Set<String> types;
    try (var files = Files.walk(PROJECT)) {
      types =
          files
              .map(file -> file.getFileName().toString())
              .filter(name -> name.endsWith(".java"))
              .map(name -> name.substring(0, name.length() - ".java".length()))
              .collect(Collectors.toSet());
    }
    String topics =
        Files.readString(
            PROJECT.resolve(
                "testkit/src/main/java/dev/tidepool/testkit/AcceleratorConformance.java"));
    String page = withoutCode(Files.readString(PROJECT.resolve("docs/architecture.md")));
    List<String> named =
        CODE.matcher(page)
            .results()
            .map(MatchResult::group)
            .flatMap(code -> TYPE.matcher(code).results())
            .map(MatchResult::group)
            .distinct()
            .toList();
    assertThat(named).hasSizeGreaterThan(100);
    assertThat(named)
        .filteredOn(name -> !types.contains(name) && !topics.contains("class " + name + " "))
        .containsOnly("ServiceLoader", "InternalError");
  }

  private static String withoutCode(String text) {
    return text.replaceAll("(?ms)^" + FENCE + ".*?^" + FENCE + "$", "");
  }

  private static boolean leadsSomewhere(Path page, String file, @Nullable String fragment)
      throws IOException {
    Path folder = Objects.requireNonNullElse(page.getParent(), Path.of(""));
    Path target = file.isEmpty() ? page : folder.resolve(file);
    if (fragment == null || !Files.isRegularFile(target)) {
      return Files.exists(target);
    }
    String text = withoutCode(Files.readString(target));
    return text.contains("id=\"" + fragment.substring(1) + "\"")
        || HEADING
            .matcher(text)
            .results()
            .anyMatch(heading -> fragment.equals("#" + anchor(heading.group(1))));
  }

  /** The name that GitHub gives a heading. */
  private static String anchor(String heading) {
    return heading.toLowerCase(Locale.ROOT).replaceAll("[^\\p{L}\\p{N} _-]", "").replace(' ', '-');
  }

  @Test
  void are_named_by_page_and_line_where_they_are_wrong() {
    Path page = Path.of("page.md");
    Piece statements = new Piece(1, page, 10, List.of("int x = 1;", "String s = x;"));
    Piece unit = new Piece(2, page, 20, List.of("import java.util.List;", "class A extends B {}"));
    assertThat(errors(List.of(statements, unit)))
        .anyMatch(error -> error.startsWith("page.md:12 "))
        .anyMatch(error -> error.startsWith("page.md:22 "));
  }

  private List<String> errors(List<Piece> pieces) {
    DiagnosticCollector<JavaFileObject> found = new DiagnosticCollector<>();
    JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
    List<String> options =
        List.of(
            "-d",
            classes.toString(),
            "-classpath",
            System.getProperty("java.class.path"),
            "-proc:none",
            "-implicit:none",
            "-Xlint:none");
    compiler.getTask(null, null, found, options, null, pieces).call();
    return found.getDiagnostics().stream()
        .filter(diagnostic -> diagnostic.getKind() == Diagnostic.Kind.ERROR)
        .map(PagesTest::told)
        .toList();
  }

  private static String told(Diagnostic<? extends JavaFileObject> diagnostic) {
    String message = diagnostic.getMessage(Locale.ROOT);
    return diagnostic.getSource() instanceof Piece piece
        ? piece.place(diagnostic.getLineNumber()) + " " + message
        : message;
  }
}

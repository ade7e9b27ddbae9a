package dev.tidepool.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.lz4.Lz4Frame;
import dev.tidepool.lz4.Lz4FrameWriter;
import dev.tidepool.stream.NpyHeader;
import dev.tidepool.stream.NpyType;
import dev.tidepool.stream.NpyWriter;
import java.io.File;
import java.io.IOException;
import java.io.StringWriter;
import java.lang.foreign.MemorySegment;
import java.lang.module.ModuleFinder;
import java.lang.module.ModuleReference;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import javax.tools.JavaCompiler;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A user's program is compiled and run by JVMs of its own, on the module path and on the class
 * path, with the library's modules and nothing else.
 */
class PathsTest {
  /** An automatic module that takes its name from its file. */
  private static final String CODEC_LIBRARY = "aircompressor.v3";

  private static final Set<String> LIBRARY =
      Set.of(
          "dev.tidepool.memory",
          "dev.tidepool.metal",
          "dev.tidepool.opencl",
          "dev.tidepool.cuda",
          "dev.tidepool.lz4",
          CODEC_LIBRARY);

  private static final String MODULE =
      """
      module user {
        requires dev.tidepool.memory;
      }
      """;

  private static final String PROGRAM =
      """
      package user;

      import dev.tidepool.Accelerator;
      import dev.tidepool.Tidepool;
      import dev.tidepool.UnifiedBuffer;
      import dev.tidepool.UnifiedMemoryManager;
      import dev.tidepool.TransferException;
      import dev.tidepool.stream.NpyReader;
      import java.lang.foreign.MemorySegment;
      import java.nio.file.Path;
      import java.util.Arrays;

      public final class Program {
        private Program() {}

        public static void main(String[] arguments) {
          try (Tidepool tidepool = Tidepool.open()) {
            UnifiedMemoryManager memory = tidepool.memory(tidepool.accelerator("cpu:0"));
            float[] there = {1, 2, 3};
            float[] back = new float[3];
            try (UnifiedBuffer<float[]> buffer = memory.copyOf(there)) {
              buffer.copyTo(back);
            }
            System.out.println(Program.class.getModule());
            System.out.println(Tidepool.class.getModule());
            System.out.println(Arrays.toString(back));
            System.out.println(tidepool.accelerators().stream().map(Accelerator::id).toList());
          }
          try (NpyReader reader = NpyReader.open(Path.of(arguments[0]))) {
            float[] elements = new float[(int) reader.length()];
            reader.read(0, MemorySegment.ofArray(elements));
            System.out.println(Arrays.toString(elements));
          } catch (TransferException e) {
            System.out.println(e.getMessage());
          }
        }
      }
      """;

  @TempDir private Path folder;

  @Test
  void theLibraryWorksOnTheModulePathAndOnTheClassPathAlike() throws Exception {
    String library = library(LIBRARY);
    String compressed = compressed().toString();

    Path module = compile("module", List.of("--module-path", library), MODULE, PROGRAM);
    List<String> onModulePath =
        run(
            "--enable-native-access=" + String.join(",", LIBRARY.stream().sorted().toList()),
            "--module-path",
            library + File.pathSeparator + module,
            "--module",
            "user/user.Program",
            compressed);

    Path classes = compile("classes", List.of("--class-path", library), null, PROGRAM);
    List<String> onClassPath =
        run(
            "--enable-native-access=ALL-UNNAMED",
            "--class-path",
            library + File.pathSeparator + classes,
            "user.Program",
            compressed);

    assertThat(onModulePath).hasSize(5).startsWith("module user", "module dev.tidepool.memory");
    assertThat(onClassPath).hasSize(5);
    assertThat(onClassPath.subList(0, 2)).allMatch(name -> name.startsWith("unnamed module"));
    assertThat(onModulePath.get(2)).isEqualTo("[1.0, 2.0, 3.0]");
    // On both paths equal values came back, and equal services were found.
    assertThat(onClassPath.subList(2, 5)).isEqualTo(onModulePath.subList(2, 5));
    assertThat(onModulePath.get(4)).isEqualTo("[4.0, 5.0, 6.0]");
  }

  @Test
  void aCompressedFileNamesTheArtifactWhereItsModuleIsNotPresent() throws Exception {
    String library = library(Set.of("dev.tidepool.memory"));
    Path compressed = compressed();

    Path classes = compile("classes", List.of("--class-path", library), null, PROGRAM);
    List<String> lines =
        run(
            "--enable-native-access=ALL-UNNAMED",
            "--class-path",
            library + File.pathSeparator + classes,
            "user.Program",
            compressed.toString());

    assertThat(lines.getLast())
        .startsWith("cannot read " + compressed + ": it is compressed by lz4, and the artifact")
        .contains("dev.tidepool:tidepool-lz4");
  }

  private Path compressed() throws IOException {
    Path plain = folder.resolve("x.npy");
    NpyHeader header = NpyHeader.of(NpyType.FLOAT32, false, List.of(3L));
    try (NpyWriter writer = NpyWriter.create(plain, header, true)) {
      writer.write(0, MemorySegment.ofArray(new float[] {4, 5, 6}));
      writer.commit();
    }
    byte[] bytes = Files.readAllBytes(plain);
    Path file = folder.resolve("x.npy.lz4");
    try (FileChannel channel =
        FileChannel.open(file, StandardOpenOption.WRITE, StandardOpenOption.CREATE)) {
      Lz4FrameWriter writer = new Lz4FrameWriter(channel, Lz4Frame.of(bytes.length));
      writer.write(MemorySegment.ofArray(bytes));
      writer.end();
    }
    return file;
  }

  /** The path of the library's modules, jars or folders, as this test's own path has them. */
  private static String library(Set<String> modules) {
    List<String> found = new ArrayList<>();
    for (String entry : System.getProperty("java.class.path").split(File.pathSeparator)) {
      Path path = Path.of(entry);
      if (Files.exists(path) && !path.endsWith("test-classes") && isLibrary(path, modules)) {
        found.add(entry);
      }
    }
    assertThat(found).hasSize(modules.size());
    return String.join(File.pathSeparator, found);
  }

  private static boolean isLibrary(Path path, Set<String> modules) {
    // An exploded module is found by the folder itself, as a jar is by its file.
    return ModuleFinder.of(path).findAll().stream()
        .map(ModuleReference::descriptor)
        .anyMatch(descriptor -> modules.contains(descriptor.name()));
  }

  private Path compile(String name, List<String> path, String module, String program)
      throws IOException {
    Path sources = Files.createDirectories(folder.resolve(name + "-sources"));
    Path classes = Files.createDirectories(folder.resolve(name));
    List<Path> files = new ArrayList<>();
    files.add(Files.writeString(sources.resolve("Program.java"), program));
    if (module != null) {
      files.add(Files.writeString(sources.resolve("module-info.java"), module));
    }
    List<String> options = new ArrayList<>(path);
    options.addAll(List.of("-d", classes.toString(), "-Xlint:all", "-Werror", "-proc:none"));
    StringWriter log = new StringWriter();
    JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
    try (StandardJavaFileManager manager = compiler.getStandardFileManager(null, null, null)) {
      boolean compiled =
          compiler
              .getTask(
                  log, manager, null, options, null, manager.getJavaFileObjectsFromPaths(files))
              .call();
      assertThat(compiled).as("compiled without a warning: %s", log).isTrue();
    }
    return classes;
  }

  private List<String> run(String... arguments) throws IOException, InterruptedException {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.add("-Xmx256m");
    command.addAll(Arrays.asList(arguments));
    Path output = folder.resolve("output");
    Path errors = folder.resolve("errors");
    Process process =
        new ProcessBuilder(command)
            .redirectOutput(output.toFile())
            .redirectError(errors.toFile())
            .start();
    try {
      assertThat(process.waitFor(2, TimeUnit.MINUTES)).as("ends: %s", command).isTrue();
    } finally {
      process.destroyForcibly();
    }
    String complaints = Files.readString(errors);
    assertThat(process.exitValue()).as(complaints).isZero();
    assertThat(complaints).as("no warning about native access").doesNotContain("WARNING");
    return Files.readAllLines(output);
  }
}

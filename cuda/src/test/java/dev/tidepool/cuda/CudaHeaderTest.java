package dev.tidepool.cuda;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.abort;

import dev.tidepool.AcceleratorException;
import java.io.IOException;
import java.lang.reflect.Field;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * The numbers, structures and functions of the bindings are those of NVIDIA's {@code cuda.h}. The
 * simulated driver cannot show that: it is called as the bindings call it.
 */
@Timeout(120)
class CudaHeaderTest {
  private static final int OLDEST_HEADER = 12_080;

  private static final Path SOURCES = Path.of("src/main/java/dev/tidepool/cuda");

  private static final List<Class<?>> BINDINGS =
      List.of(
          Cuda.class,
          ErrorCodes.class,
          IpcCalls.class,
          VirtualMemoryCalls.class,
          BatchedCopyCalls.class,
          ForeignMemory.class);

  private static final Pattern FUNCTION =
      Pattern.compile("DRIVER\\s*\\.code\\(\\s*\"(cu\\w+)\"([^)]*)\\)");
  private static final Pattern DESCRIPTOR =
      Pattern.compile("FunctionDescriptor\\.of\\(\\s*JAVA_INT([^)]*)\\)");

  /** Bytes of an argument, by the name of its layout. */
  private static final Map<String, Integer> BYTES =
      Map.of(
          "ADDRESS", 8,
          "POINTER", 8,
          "JAVA_LONG", 8,
          "SIZE", 8,
          "DEVICE_POINTER", 8,
          "HANDLE", 8,
          "INT", 4,
          "JAVA_INT", 4,
          "JAVA_SHORT", 2,
          "JAVA_BYTE", 1);

  /** What the bindings write by numbers. */
  private static final String STRUCTURES =
      """
      static_assert(offsetof(CUmemPoolProps, allocType) == 0);
      static_assert(offsetof(CUmemPoolProps, location.type) == 8);
      static_assert(offsetof(CUmemPoolProps, location.id) == 12);
      static_assert(offsetof(CUmemAllocationProp, type) == 0);
      static_assert(offsetof(CUmemAllocationProp, requestedHandleTypes) == 4);
      static_assert(offsetof(CUmemAllocationProp, location.type) == 8);
      static_assert(offsetof(CUmemAllocationProp, location.id) == 12);
      static_assert(offsetof(CUmemAccessDesc, location.type) == 0);
      static_assert(offsetof(CUmemAccessDesc, location.id) == 4);
      static_assert(offsetof(CUmemAccessDesc, flags) == 8);
      static_assert(offsetof(CUmemcpyAttributes, srcAccessOrder) == 0);
      """;

  /** What the bindings call the size of a structure. */
  private static final Map<String, String> STRUCTURE_BYTES =
      Map.of(
          "Cuda.POOL_PROPERTIES_BYTES", "CUmemPoolProps",
          "VirtualMemoryCalls.PROPERTIES_BYTES", "CUmemAllocationProp",
          "VirtualMemoryCalls.ACCESS_BYTES", "CUmemAccessDesc",
          "IpcCalls.HANDLE_BYTES", "CUipcMemHandle",
          "BatchedCopyCalls.ATTRIBUTES_BYTES", "CUmemcpyAttributes");

  private static Path include;
  private static String header;

  @BeforeAll
  static void headerIsThere() throws IOException {
    for (String home : new String[] {System.getenv("CUDA_HOME"), "/usr/local/cuda"}) {
      Path file = Path.of(home == null ? "" : home, "include", "cuda.h");
      if (Files.exists(file)) {
        header = Files.readString(file, StandardCharsets.ISO_8859_1);
        include = file.getParent();
        Matcher version = Pattern.compile("#define CUDA_VERSION (\\d+)").matcher(header);
        if (version.find() && Integer.parseInt(version.group(1)) >= OLDEST_HEADER) {
          return;
        }
      }
    }
    abort("NO cuda.h OF 12.8 OR NEWER: the bindings are not compared; install the CUDA toolkit");
  }

  @Test
  void numbersStructuresAndFunctionsAreThoseOfTheHeader(@TempDir Path folder) throws Exception {
    StringBuilder check = new StringBuilder();
    // With the functions of older drivers, which newer ones have too.
    check.append("#define __CUDA_API_VERSION_INTERNAL\n#include <cuda.h>\n");
    check.append("#include <algorithm>\n#include <cstddef>\n#include <initializer_list>\n");
    check.append(
        """
        template <class... A>
        constexpr bool takes(CUresult (*)(A...), std::initializer_list<std::size_t> sizes) {
          const std::size_t actual[] = {sizeof(A)...};
          return std::equal(sizes.begin(), sizes.end(), actual, actual + sizeof...(A));
        }
        """);
    check.append(STRUCTURES);
    int numbers = 0;
    for (Class<?> binding : BINDINGS) {
      for (Field field : binding.getDeclaredFields()) {
        String structure = STRUCTURE_BYTES.get(binding.getSimpleName() + "." + field.getName());
        if (structure != null || field.getName().matches("CU(DA)?_.*")) {
          numbers++;
          field.setAccessible(true);
          check.append(
              "static_assert(%s == %s);\n"
                  .formatted(
                      structure == null
                          ? "static_cast<long long>(" + field.getName() + ")"
                          : "sizeof(" + structure + ")",
                      field.get(null)));
        }
      }
    }
    List<String> functions = functions();
    functions.forEach(check::append);
    assertThat(numbers).isGreaterThan(80);
    assertThat(functions).hasSizeGreaterThan(70);
    compile(folder, check.toString());
  }

  /** One assertion for each function: its arguments have the sizes that the bindings pass. */
  private static List<String> functions() throws IOException {
    List<String> functions = new ArrayList<>();
    try (Stream<Path> files = Files.list(SOURCES)) {
      for (Path file : files.filter(Files::isRegularFile).sorted().toList()) {
        String source = Files.readString(file);
        for (MatchResult call : FUNCTION.matcher(source).results().toList()) {
          functions.add(assertion(file, call.group(1), call.group(2)));
        }
        for (MatchResult call : DESCRIPTOR.matcher(source).results().toList()) {
          functions.add(assertion(file, "cuMemcpyBatchAsync", call.group(1)));
        }
      }
    }
    return functions;
  }

  private static String assertion(Path file, String function, String layouts) {
    StringBuilder all = new StringBuilder();
    for (String layout : layouts.replaceAll("\\s", "").split(",")) {
      if (!layout.isEmpty()) {
        boolean isStructure = file.endsWith("IpcCalls.java") && layout.equals("HANDLE");
        all.append(isStructure ? 64 : BYTES.get(layout)).append(',');
      }
    }
    return "static_assert(takes(&%s, {%s}), \"%s\");\n".formatted(function, all, function);
  }

  private static void compile(Path folder, String check) throws Exception {
    Path source = Files.writeString(folder.resolve("check.cc"), check);
    Path messages = folder.resolve("messages");
    Process compiler;
    try {
      compiler =
          new ProcessBuilder(
                  "g++",
                  "-std=c++20",
                  "-fsyntax-only",
                  "-isystem",
                  include.toString(),
                  source.toString())
              .redirectErrorStream(true)
              .redirectOutput(messages.toFile())
              .start();
    } catch (IOException absent) {
      abort("NO g++: the bindings are not compared with cuda.h");
      return;
    }
    try {
      assertThat(compiler.waitFor(60, TimeUnit.SECONDS)).as("g++ ends").isTrue();
    } finally {
      compiler.destroyForcibly();
    }
    assertThat(compiler.exitValue()).as(Files.readString(messages)).isZero();
  }

  /** The header says it of each code after which every call fails. */
  @Test
  void whatEndsTheProcessesUseOfTheDeviceIsALostDevice() {
    String codes =
        header.substring(
            header.indexOf("typedef enum cudaError_enum"), header.indexOf("CUresult;"));
    List<Integer> ending =
        Pattern.compile("/\\*\\*(.*?)\\*/\\s*CUDA_\\w+\\s*=\\s*(\\d+)", Pattern.DOTALL)
            .matcher(codes)
            .results()
            .filter(code -> code.group(1).contains("terminated"))
            .map(code -> Integer.valueOf(code.group(2)))
            .toList();
    assertThat(ending)
        .hasSizeGreaterThan(10)
        .allMatch(code -> ErrorCodes.kindOf(code) == AcceleratorException.Kind.DEVICE_LOST);
  }
}

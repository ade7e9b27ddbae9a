package dev.tidepool.host;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.ElementType;
import dev.tidepool.TransferException;
import dev.tidepool.cpu.ParallelFill;
import dev.tidepool.expression.jvm.CpuLoop;
import dev.tidepool.expression.syntax.ScalarType;
import dev.tidepool.expression.types.Expression;
import dev.tidepool.expression.types.Operand;
import dev.tidepool.expression.types.TypedProgram;
import dev.tidepool.host.system.TruncatedMapCheck;
import dev.tidepool.stream.NpyHeader;
import dev.tidepool.stream.NpyReader;
import dev.tidepool.stream.NpyType;
import dev.tidepool.stream.NpyWriter;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.reflect.Executable;
import java.lang.reflect.Modifier;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;

/**
 * Every public operation on segments, while the file under its segment is truncated: in a virtual
 * machine of its own, which must not die. Operations on buffers have a sweep of their own, in the
 * testkit.
 */
@EnabledOnOs(OS.LINUX)
class TruncatedMapCheckTest {
  /** From 1 MiB on fills are the C library's. */
  private static final int BYTES = 1 << 20;

  private static final int SMALL = 2048;

  private static final int CALLS = 4_000;

  private static final HostBlock OWN = new MemoryAllocator().allocate(BYTES);

  /** Packages whose public methods take segments from users. */
  private static final List<String> PACKAGES =
      List.of("host", "stream", "expression.types", "expression.jvm", "cpu");

  /** Methods with a segment that touch no bytes of it, or are not called by users. */
  private static final Set<String> OTHERS =
      Set.of(
          "CpuDevice.adopt(MemorySegment)",
          "ArenaKeepAlive.of(MemorySegment)",
          "DriverSegment(MemorySegment)",
          "MemoryAllocator.adopt(MemorySegment,Runnable)",
          "MemoryAllocator.wrap(MemorySegment)",
          // Implemented by the reader and the writer of files.
          "ElementSink.write(long,MemorySegment)",
          "ElementSource.read(long,MemorySegment)");

  /** How a program comes by a segment over a file. */
  private enum Kind {
    MAPPED {
      @Override
      MemorySegment of(FileChannel channel, Arena arena) throws IOException {
        return channel.map(FileChannel.MapMode.READ_WRITE, 0, BYTES, arena);
      }
    },
    /** Does not say that it is mapped. */
    VIEW {
      @Override
      MemorySegment of(FileChannel channel, Arena arena) throws IOException {
        return MemorySegment.ofBuffer(
            channel.map(FileChannel.MapMode.READ_WRITE, 0, BYTES).asFloatBuffer());
      }
    };

    abstract MemorySegment of(FileChannel channel, Arena arena) throws IOException;
  }

  @Test
  void everyOperationOnATruncatedFileFailsAndTheProcessLives() throws Exception {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(
        List.of(
            "-Xmx256m",
            "--enable-native-access=ALL-UNNAMED",
            "-XX:-CreateCoredumpOnCrash",
            "-XX:ErrorFile=/dev/null",
            // Compiles early.
            "-XX:Tier3InvocationThreshold=50",
            "-XX:Tier3MinInvocationThreshold=25",
            "-XX:Tier3CompileThreshold=100",
            "-XX:Tier4InvocationThreshold=600",
            "-XX:Tier4MinInvocationThreshold=100",
            "-XX:Tier4CompileThreshold=1000",
            "-cp",
            System.getProperty("java.class.path"),
            TruncatedMapCheckTest.class.getName()));
    Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
    String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(process.waitFor()).as(output).isZero();
    assertThat(output).contains(operations().size() + " operations failed as they should");
  }

  @Test
  void everyPublicMethodThatTakesASegmentIsInTheSweep() throws Exception {
    Set<String> swept =
        operations().keySet().stream()
            .map(name -> name.substring(0, name.indexOf(')') + 1))
            .collect(Collectors.toSet());
    Set<String> missing = new TreeSet<>();
    Path root =
        Path.of(MemoryOperations.class.getProtectionDomain().getCodeSource().getLocation().toURI());
    ClassLoader loader = TruncatedMapCheckTest.class.getClassLoader();
    for (String subpackage : PACKAGES) {
      try (Stream<Path> files =
          Files.list(root.resolve("dev/tidepool").resolve(subpackage.replace('.', '/')))) {
        for (Path file : files.filter(file -> file.toString().endsWith(".class")).toList()) {
          String name = file.getFileName().toString().replaceAll("\\.class$", "");
          publicMethods(Class.forName("dev.tidepool." + subpackage + "." + name, false, loader))
              .filter(method -> !swept.contains(method) && !OTHERS.contains(method))
              .forEach(missing::add);
        }
      }
    }
    publicMethods(ElementType.class)
        .filter(method -> !swept.contains(method))
        .forEach(missing::add);
    assertThat(missing).as("add an operation for each to the sweep").isEmpty();
  }

  /** Returns the methods of a public class that take segments. */
  private static Stream<String> publicMethods(Class<?> type) {
    return isPublic(type)
        ? Stream.<Executable>concat(
                Arrays.stream(type.getDeclaredMethods()),
                Arrays.stream(type.getDeclaredConstructors()))
            .filter(method -> Modifier.isPublic(method.getModifiers()) && !method.isSynthetic())
            .filter(
                method ->
                    Arrays.stream(method.getGenericParameterTypes())
                        .anyMatch(parameter -> parameter.getTypeName().contains("MemorySegment")))
            .map(method -> signature(type, method))
        : Stream.empty();
  }

  private static boolean isPublic(Class<?> type) {
    Class<?> outer = type.getEnclosingClass();
    return Modifier.isPublic(type.getModifiers()) && (outer == null || isPublic(outer));
  }

  private static String signature(Class<?> type, Executable method) {
    String name = method.getName().equals(type.getName()) ? "" : "." + method.getName();
    return type.getSimpleName()
        + name
        + Arrays.stream(method.getParameterTypes())
            .map(Class::getSimpleName)
            .collect(Collectors.joining(",", "(", ")"));
  }

  public static void main(String[] arguments) throws IOException {
    Map<String, Consumer<MemorySegment>> operations = operations();
    for (Map.Entry<String, Consumer<MemorySegment>> operation : operations.entrySet()) {
      for (Kind kind : Kind.values()) {
        // Interpreted, then compiled: the error comes at different places.
        for (int warmUp : new int[] {0, kind == Kind.VIEW ? CALLS : 1}) {
          // If the process dies, this is what it died of.
          System.out.println(operation.getKey() + " of " + kind + " after " + warmUp + " calls");
          expectFailure(operation.getKey(), operation.getValue(), kind, warmUp);
        }
      }
    }
    Opened.close();
    System.out.println(operations.size() + " operations failed as they should");
  }

  private static void expectFailure(
      String name, Consumer<MemorySegment> operation, Kind kind, int warmUp) throws IOException {
    Path file = Files.createTempFile("vanishing", ".bytes");
    try (Arena arena = Arena.ofShared();
        FileChannel channel =
            FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
      MemorySegment memory = kind.of(channel, arena);
      for (int i = 0; i < warmUp; i++) {
        // The fast ways too are compiled by then.
        MemorySegment either = i % 2 == 0 ? memory : OWN.segment();
        operation.accept(i % 1000 < 2 ? either : either.asSlice(0, SMALL));
      }
      channel.truncate(0);
      operation.accept(memory);
      TruncatedMapCheck.surface();
    } catch (TransferException e) {
      return;
    } catch (InternalError e) {
      // What reads and writes single blocks, as MemorySegment itself does, leaves it as it is.
      if (!name.startsWith("MemoryOperations")) {
        return;
      }
      throw e;
    } finally {
      Files.delete(file);
    }
    throw new AssertionError(name + " after " + warmUp + " calls found nothing wrong");
  }

  private record Point(int x, float y) {}

  private static final ElementType<Point[]> POINT =
      ElementType.struct(Point.class, MethodHandles.lookup());

  /** By the method's signature and what else there is to say. */
  private static Map<String, Consumer<MemorySegment>> operations() {
    Map<String, Consumer<MemorySegment>> all = new LinkedHashMap<>();
    // Own memory, so that only the file keeps an operation from its fast way.
    MemoryAllocator allocator = new MemoryAllocator();
    MemorySegment other = allocator.allocate(BYTES).segment().fill((byte) 0);
    MemorySegment wide = allocator.allocate(2L * BYTES).segment().fill((byte) 0);
    MemorySegment wider = allocator.allocate(8L * BYTES).segment().fill((byte) 0);
    putCopiesAndFills(all, other);
    putComparisons(all, other);
    putConversions(all, other, wide);
    putMoves(all, other, wide, wider);
    putReductions(all, other);
    putBlocks(all, other, wide);
    putFiles(all);
    return all;
  }

  private static MemorySegment like(MemorySegment memory, MemorySegment other) {
    return other.asSlice(0, memory.byteSize());
  }

  private static void putCopiesAndFills(
      Map<String, Consumer<MemorySegment>> all, MemorySegment other) {
    String copy = "MemoryOperations.copy(MemorySegment,MemorySegment)";
    all.put(copy + " from", memory -> MemoryOperations.copy(memory, other));
    all.put(copy + " to", memory -> MemoryOperations.copy(like(memory, other), memory));
    // Over before compiled code looks for the error.
    all.put(
        "MemoryOperations.copy(MemorySegment,long,MemorySegment,long,long) of eight bytes",
        memory -> MemoryOperations.copy(memory, 0, other, 0, 8));
    String fill = "MemoryOperations.fill(MemorySegment,";
    all.put(fill + "byte)", memory -> MemoryOperations.fill(memory, (byte) 0));
    all.put(fill + "short)", memory -> MemoryOperations.fill(memory, (short) 0));
    all.put(fill + "int)", memory -> MemoryOperations.fill(memory, 0));
    all.put(fill + "long)", memory -> MemoryOperations.fill(memory, 0L));
    all.put(fill + "float)", memory -> MemoryOperations.fill(memory, 0f));
    all.put(fill + "double)", memory -> MemoryOperations.fill(memory, 0d));
    for (int bytes : new int[] {1, 3}) {
      MemorySegment pattern = MemorySegment.ofArray(new byte[bytes]);
      all.put(
          "ParallelFill.fill(MemorySegment,MemorySegment) with " + bytes,
          memory -> ParallelFill.fill(memory, pattern));
    }
  }

  private static void putComparisons(
      Map<String, Consumer<MemorySegment>> all, MemorySegment other) {
    all.put(
        "MemoryOperations.mismatch(MemorySegment,MemorySegment)",
        memory -> MemoryOperations.mismatch(memory, like(memory, other)));
    all.put(
        "MemoryOperations.equal(MemorySegment,MemorySegment)",
        memory -> MemoryOperations.equal(like(memory, other), memory));
    all.put(
        "MemoryOperations.compare(MemorySegment,MemorySegment)",
        memory -> MemoryOperations.compare(memory, like(memory, other)));
    all.put(
        "MemoryOperations.compare(ElementType,MemorySegment,MemorySegment)",
        memory -> MemoryOperations.compare(ElementType.FLOAT, like(memory, other), memory));
  }

  private static void putConversions(
      Map<String, Consumer<MemorySegment>> all, MemorySegment other, MemorySegment wide) {
    all.put(
        "MemoryOperations.swapBytes(int,MemorySegment)",
        memory -> MemoryOperations.swapBytes(4, memory));
    String swap = "MemoryOperations.swapBytes(int,MemorySegment,MemorySegment)";
    all.put(swap + " from", memory -> MemoryOperations.swapBytes(2, memory, other));
    all.put(swap + " to", memory -> MemoryOperations.swapBytes(8, like(memory, other), memory));
    String convert =
        "MemoryOperations.convert(ElementType,MemorySegment,ElementType,MemorySegment)";
    all.put(
        convert + " from",
        memory -> MemoryOperations.convert(ElementType.FLOAT, memory, ElementType.DOUBLE, wide));
    all.put(
        convert + " to",
        memory ->
            MemoryOperations.convert(
                ElementType.DOUBLE,
                wide.asSlice(0, 2 * memory.byteSize()),
                ElementType.FLOAT,
                memory));
    all.put(
        convert + " of equal types",
        memory -> MemoryOperations.convert(ElementType.INT, memory, ElementType.INT, other));
  }

  private static void putMoves(
      Map<String, Consumer<MemorySegment>> all,
      MemorySegment other,
      MemorySegment wide,
      MemorySegment wider) {
    int[] ints = new int[128];
    long[] longs = new long[128];
    String gather = "MemoryOperations.gather(long,MemorySegment,";
    all.put(
        gather + "int[],MemorySegment)", memory -> MemoryOperations.gather(4, memory, ints, other));
    all.put(
        gather + "long[],MemorySegment)",
        memory -> MemoryOperations.gather(8, memory, longs, other));
    all.put(
        gather + "ElementType,MemorySegment,MemorySegment) by vanished indices",
        memory -> MemoryOperations.gather(1, wide, ElementType.LONG, memory, other));
    all.put(
        gather + "ElementType,MemorySegment,MemorySegment) by vanished ints",
        memory -> MemoryOperations.gather(1, wide, ElementType.INT, memory, other));
    String scatter = "MemoryOperations.scatter(long,MemorySegment,";
    all.put(
        scatter + "int[],MemorySegment)",
        memory -> MemoryOperations.scatter(4, other.asSlice(0, 512), ints, memory));
    all.put(
        scatter + "long[],MemorySegment)",
        memory -> MemoryOperations.scatter(8, other.asSlice(0, 1024), longs, memory));
    all.put(
        scatter + "ElementType,MemorySegment,MemorySegment) by vanished indices",
        memory ->
            MemoryOperations.scatter(
                1, wide.asSlice(0, memory.byteSize() / 8), ElementType.LONG, memory, other));
    all.put(
        "MemoryOperations.readField(MemorySegment,long,long,long,MemorySegment)",
        memory -> MemoryOperations.readField(memory, 16, 4, 8, other));
    all.put(
        "MemoryOperations.writeField(MemorySegment,MemorySegment,long,long,long)",
        memory -> MemoryOperations.writeField(memory, wider, 16, 4, 4));
    String split = "MemoryOperations.split(ElementType,MemorySegment,MemorySegment[])";
    all.put(
        split + " of vanished structs",
        memory ->
            MemoryOperations.split(
                POINT, memory, half(memory, wide, 0), half(memory, wide, BYTES)));
    all.put(
        split + " to a vanished column",
        memory -> MemoryOperations.split(POINT, twice(memory, wider), other, memory));
    String join = "MemoryOperations.join(ElementType,MemorySegment,MemorySegment[])";
    all.put(
        join + " to vanished structs",
        memory ->
            MemoryOperations.join(POINT, memory, half(memory, wide, 0), half(memory, wide, BYTES)));
    all.put(
        join + " of a vanished column",
        memory -> MemoryOperations.join(POINT, wider, like(memory, other), memory));
  }

  private static MemorySegment half(MemorySegment memory, MemorySegment other, long at) {
    return other.asSlice(at, memory.byteSize() / 2);
  }

  private static MemorySegment twice(MemorySegment memory, MemorySegment other) {
    return other.asSlice(0, 2 * memory.byteSize());
  }

  private static void putReductions(Map<String, Consumer<MemorySegment>> all, MemorySegment other) {
    String of = "(ElementType,MemorySegment)";
    String ofTwo = "(ElementType,MemorySegment,MemorySegment)";
    all.put("MemoryOperations.sum" + of, m -> MemoryOperations.sum(ElementType.FLOAT, m));
    all.put("MemoryOperations.min" + of, m -> MemoryOperations.min(ElementType.DOUBLE, m));
    all.put("MemoryOperations.max" + of, m -> MemoryOperations.max(ElementType.FLOAT, m));
    all.put(
        "MemoryOperations.sumAsLong" + of, m -> MemoryOperations.sumAsLong(ElementType.LONG, m));
    all.put(
        "MemoryOperations.minAsLong" + of, m -> MemoryOperations.minAsLong(ElementType.BYTE, m));
    all.put("MemoryOperations.maxAsLong" + of, m -> MemoryOperations.maxAsLong(ElementType.INT, m));
    all.put(
        "MemoryOperations.dot" + ofTwo,
        m -> MemoryOperations.dot(ElementType.DOUBLE, like(m, other), m));
    all.put(
        "MemoryOperations.dotAsLong" + ofTwo,
        m -> MemoryOperations.dotAsLong(ElementType.INT, m, like(m, other)));
  }

  private static void putBlocks(
      Map<String, Consumer<MemorySegment>> all, MemorySegment other, MemorySegment wide) {
    float[] floats = new float[BYTES / 4];
    all.put(
        "ElementType.write(Object,int,MemorySegment,long,int)",
        m -> ElementType.FLOAT.write(floats, 0, m, 0, (int) (m.byteSize() / 4)));
    all.put(
        "ElementType.read(MemorySegment,long,Object,int,int)",
        m -> ElementType.FLOAT.read(m, 0, floats, 0, (int) (m.byteSize() / 4)));
    Point[] points = new Point[64];
    Arrays.fill(points, new Point(1, 2));
    all.put(
        "ElementType.write(Object,int,MemorySegment,long,int) of structs",
        m -> POINT.write(points, 0, m, 0, points.length));
    all.put(
        "ElementType.read(MemorySegment,long,Object,int,int) of structs",
        m -> POINT.read(m, 0, points, 0, points.length));

    TypedProgram program =
        Expression.parse("y = x * 2.0 + 1.0")
            .resolve(
                Map.of(
                    "x",
                    Operand.array(ScalarType.FLOAT32),
                    "y",
                    Operand.array(ScalarType.FLOAT32)));
    CpuLoop loop = CpuLoop.compile(program);
    int x = program.arrays().getFirst().name().equals("x") ? 0 : 1;
    long[] uniforms = program.uniformValues(Map.of());
    String run = "CpuLoop.run(MemorySegment[],long[],long,long)";
    all.put(run + " from", m -> loop.run(arrays(x, m, other), uniforms, 0, m.byteSize() / 4));
    all.put(run + " to", m -> loop.run(arrays(1 - x, m, other), uniforms, 0, m.byteSize() / 4));
    String stream = "CpuLoop.stream(MemorySegment[],long[],long,long)";
    all.put(stream + " from", m -> loop.stream(arrays(x, m, other), uniforms, 0, m.byteSize() / 4));
    all.put(
        stream + " to", m -> loop.stream(arrays(1 - x, m, other), uniforms, 0, m.byteSize() / 4));
  }

  private static MemorySegment[] arrays(int at, MemorySegment memory, MemorySegment other) {
    MemorySegment[] arrays = {other, other};
    arrays[at] = memory;
    return arrays;
  }

  private static void putFiles(Map<String, Consumer<MemorySegment>> all) {
    all.put("NpyWriter.write(long,MemorySegment)", memory -> Opened.WRITER.write(0, memory));
    all.put("NpyReader.read(long,MemorySegment)", memory -> Opened.READER.read(0, memory));
    all.put(
        "NpyReader.read(long,MemorySegment) of the other byte order",
        memory -> Opened.SWAPPING.read(0, memory));
  }

  /** What the operations on files use, opened when the first of them runs. */
  private static final class Opened {
    static final NpyWriter WRITER;
    static final NpyReader READER;
    static final NpyReader SWAPPING;

    static {
      try {
        READER = reader('<');
        SWAPPING = reader('>');
        Path target = Files.createTempFile("vanishing", ".npy");
        WRITER = NpyWriter.create(target, header(), true);
        Files.delete(target);
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }

    private Opened() {}

    private static NpyHeader header() {
      return NpyHeader.of(NpyType.FLOAT32, false, List.of(BYTES / 4L));
    }

    private static NpyReader reader(char order) throws IOException {
      Path file = Files.createTempFile("vanishing", ".npy");
      try (NpyWriter writer = NpyWriter.create(file, header(), true)) {
        writer.write(0, MemorySegment.ofArray(new byte[BYTES]));
        writer.commit();
      }
      byte[] bytes = Files.readAllBytes(file);
      String start = new String(bytes, 0, 64, StandardCharsets.ISO_8859_1);
      bytes[start.indexOf("f4") - 1] = (byte) order;
      Files.write(file, bytes);
      NpyReader reader = NpyReader.open(file);
      Files.delete(file);
      return reader;
    }

    static void close() {
      WRITER.close();
      READER.close();
      SWAPPING.close();
    }
  }
}

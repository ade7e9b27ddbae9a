package dev.tidepool.testkit.conformance;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT_UNALIGNED;

import dev.tidepool.Arguments;
import dev.tidepool.Capability;
import dev.tidepool.ElementType;
import dev.tidepool.ExecutionOptions;
import dev.tidepool.HostMapping;
import dev.tidepool.JavaKernel;
import dev.tidepool.Kernel;
import dev.tidepool.KernelParameter;
import dev.tidepool.KernelSource;
import dev.tidepool.LaunchRange;
import dev.tidepool.MapMode;
import dev.tidepool.MemoryLocation;
import dev.tidepool.NativeAccess;
import dev.tidepool.NativeKind;
import dev.tidepool.NativeUse;
import dev.tidepool.StructOfArrays;
import dev.tidepool.Tidepool;
import dev.tidepool.TransferException;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.host.system.TruncatedMapCheck;
import dev.tidepool.stream.NpyHeader;
import dev.tidepool.stream.NpyReader;
import dev.tidepool.stream.NpyType;
import dev.tidepool.stream.NpyWriter;
import dev.tidepool.stream.Pipeline;
import dev.tidepool.stream.Reductions;
import dev.tidepool.stream.StreamOptions;
import dev.tidepool.transfer.Transfer;
import dev.tidepool.transfer.TransferOptions;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
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
import java.util.concurrent.CompletionException;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.stream.Collectors;

/**
 * Truncates a file during every operation on a buffer over it, or on a segment of it. The process
 * must survive, and the only error is a {@link TransferException}. If the virtual machine dies, the
 * last line of its output names the operation, so the sweep runs {@linkplain #inItsOwnProcess in
 * its own process}.
 *
 * <p>Each operation runs interpreted and compiled, for each way in which a program gets a buffer
 * over a file. Some segments do not report that they are mapped.
 */
public final class VanishedMemory {
  private static final int SMALL = 256;
  private static final int LENGTH = 64 << 10;

  /** From 8 MiB on, several processors fill. */
  private static final int LARGE = 2 << 20;

  /** The way in which a program gets a buffer over a file. */
  private enum Origin {
    /** {@link UnifiedMemoryManager#map}. */
    FILE,
    /** A page-locked view of a mapped buffer, which does not report that it is mapped. */
    VIEW
  }

  /** A record of the length of two floats. */
  public record Pair(float first, float second) {}

  private static final ElementType<Pair[]> PAIR = ElementType.struct(Pair.class);

  /** The objects of an operation. */
  private static final class Scene {
    final Tidepool tidepool;
    final UnifiedMemoryManager memory;

    /** The buffer over the file. */
    final UnifiedBuffer<float[]> buffer;

    /** The segment of the file. */
    final MemorySegment segment;

    /** A buffer of equal length in the library's own memory. */
    final UnifiedBuffer<float[]> other;

    /** An array of equal length. */
    final float[] array;

    final Kernels kernels;

    Scene(
        Tidepool tidepool,
        UnifiedMemoryManager memory,
        UnifiedBuffer<float[]> buffer,
        MemorySegment segment,
        UnifiedBuffer<float[]> other,
        float[] array,
        Kernels kernels) {
      this.tidepool = tidepool;
      this.memory = memory;
      this.buffer = buffer;
      this.segment = segment;
      this.other = other;
      this.array = array;
      this.kernels = kernels;
    }

    /** Returns a scene with the first elements of all objects. */
    Scene front(int length) {
      return new Scene(
          tidepool,
          memory,
          buffer.slice(0, length),
          segment.asSlice(0, 4L * length),
          other.slice(0, length),
          Arrays.copyOf(array, length),
          kernels);
    }

    int length() {
      return array.length;
    }

    List<UnifiedBuffer<float[]>> halves(UnifiedBuffer<float[]> of) {
      int half = length() / 2;
      return List.of(of.slice(0, half), of.slice(half, half));
    }
  }

  private record Kernels(Kernel scale, Kernel fill, Kernel java, StructOfArrays<Pair> columns) {}

  private record Operation(String name, int length, Consumer<Scene> action) {}

  private final Tidepool tidepool;
  private final UnifiedMemoryManager memory;
  private final int calls;
  private final List<Operation> operations = new ArrayList<>();
  private Path folder = Path.of("");

  private VanishedMemory(Tidepool tidepool, UnifiedMemoryManager memory, int calls) {
    this.tidepool = tidepool;
    this.memory = memory;
    this.calls = calls;
    copies();
    views();
    lending();
    kernels();
    transfers();
    reductions();
    others();
    npyFiles();
  }

  /**
   * Runs all operations on one accelerator of a Tidepool.
   *
   * @param calls the calls of each operation before the file is truncated during a compiled one
   */
  public static void sweep(Tidepool tidepool, String accelerator, int calls) throws IOException {
    UnifiedMemoryManager memory = tidepool.memory(tidepool.accelerator(accelerator));
    new VanishedMemory(tidepool, memory, calls).run();
  }

  /** Returns the methods that the sweep calls, such as {@code UnifiedBuffer.fill(byte)}. */
  public static Set<String> methods() {
    try (Tidepool tidepool = Tidepool.open()) {
      UnifiedMemoryManager cpu = tidepool.memory(tidepool.accelerator("cpu:0"));
      return new VanishedMemory(tidepool, cpu, 0)
          .operations.stream()
              .map(operation -> operation.name.substring(0, operation.name.indexOf(')') + 1))
              .collect(Collectors.toSet());
    }
  }

  /**
   * Runs a main method that sweeps, in a virtual machine that compiles early.
   *
   * @throws AssertionError if it dies or fails, with its last output
   */
  public static void inItsOwnProcess(Class<?> main, String... arguments) throws Exception {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(
        List.of(
            "-Xmx512m",
            "--enable-native-access=ALL-UNNAMED",
            "-XX:-CreateCoredumpOnCrash",
            "-XX:ErrorFile=/dev/null",
            "-XX:Tier3InvocationThreshold=50",
            "-XX:Tier3MinInvocationThreshold=25",
            "-XX:Tier3CompileThreshold=100",
            "-XX:Tier4InvocationThreshold=400",
            "-XX:Tier4MinInvocationThreshold=100",
            "-XX:Tier4CompileThreshold=600",
            "-XX:Tier4BackEdgeThreshold=5000",
            "-cp",
            System.getProperty("java.class.path"),
            main.getName()));
    command.addAll(List.of(arguments));
    Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
    String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    int status = process.waitFor();
    if (status != 0 || !output.contains("the sweep has ended")) {
      List<String> lines = output.lines().toList();
      throw new AssertionError(
          "status %s:%n%s"
              .formatted(
                  status,
                  String.join("\n", lines.subList(Math.max(0, lines.size() - 60), lines.size()))));
    }
  }

  private void add(String name, Consumer<Scene> action) {
    operations.add(new Operation(name, LENGTH, action));
  }

  private void copies() {
    add("UnifiedBuffer.copyFrom(Object)", s -> s.buffer.copyFrom(s.array));
    add("UnifiedBuffer.copyTo(Object)", s -> s.buffer.copyTo(s.array));
    add(
        "UnifiedBuffer.copyFrom(Object,int,long,int)",
        s -> s.buffer.copyFrom(s.array, 1, 2, s.length() - 3));
    add(
        "UnifiedBuffer.copyTo(long,Object,int,int)",
        s -> s.buffer.copyTo(1, s.array, 0, s.length() - 1));
    add("UnifiedBuffer.copyFromAsync(Object)", s -> s.buffer.copyFromAsync(s.array).join());
    add(
        "UnifiedBuffer.copyFromAsync(Object,int,long,int)",
        s -> s.buffer.copyFromAsync(s.array, 0, 1, s.length() - 1).join());
    add("UnifiedBuffer.copyToAsync(Object)", s -> s.buffer.copyToAsync(s.array).join());
    add(
        "UnifiedBuffer.copyToAsync(long,Object,int,int)",
        s -> s.buffer.copyToAsync(0, s.array, 0, s.length()).join());
    String from = "UnifiedBuffer.copyFrom(MemorySegment,long)";
    add(from + " of the file", s -> s.other.copyFrom(s.segment, 0));
    add(from, s -> s.buffer.copyFrom(MemorySegment.ofArray(s.array), 0));
    String to = "UnifiedBuffer.copyTo(long,MemorySegment)";
    add(to + " of the file", s -> s.other.copyTo(0, s.segment));
    add(to, s -> s.buffer.copyTo(0, MemorySegment.ofArray(s.array)));
    String fromLater = "UnifiedBuffer.copyFromAsync(MemorySegment,long)";
    add(fromLater + " of the file", s -> s.other.copyFromAsync(s.segment, 0).join());
    add(fromLater, s -> s.buffer.copyFromAsync(MemorySegment.ofArray(s.array), 0).join());
    String toLater = "UnifiedBuffer.copyToAsync(long,MemorySegment)";
    add(toLater + " of the file", s -> s.other.copyToAsync(0, s.segment).join());
    add(toLater, s -> s.buffer.copyToAsync(0, MemorySegment.ofArray(s.array)).join());
    String whole = "UnifiedBuffer.copyFrom(MemorySegment)";
    add(whole + " of the file", s -> s.other.copyFrom(s.segment));
    add(whole, s -> s.buffer.copyFrom(MemorySegment.ofArray(s.array)));
    String all = "UnifiedBuffer.copyTo(MemorySegment)";
    add(all + " of the file", s -> s.other.copyTo(s.segment));
    add(all, s -> s.buffer.copyTo(MemorySegment.ofArray(s.array)));
    String wholeLater = "UnifiedBuffer.copyFromAsync(MemorySegment)";
    add(wholeLater + " of the file", s -> s.other.copyFromAsync(s.segment).join());
    add(wholeLater, s -> s.buffer.copyFromAsync(MemorySegment.ofArray(s.array)).join());
    String allLater = "UnifiedBuffer.copyToAsync(MemorySegment)";
    add(allLater + " of the file", s -> s.other.copyToAsync(s.segment).join());
    add(allLater, s -> s.buffer.copyToAsync(MemorySegment.ofArray(s.array)).join());
    String between = "UnifiedBuffer.copyFrom(UnifiedBuffer)";
    add(between, s -> s.buffer.copyFrom(s.other));
    add(between + " over the file", s -> s.other.copyFrom(s.buffer));
    add("UnifiedBuffer.copyFromAsync(UnifiedBuffer)", s -> s.buffer.copyFromAsync(s.other).join());
    operations.add(new Operation("UnifiedBuffer.fill(byte)", LARGE, s -> s.buffer.fill((byte) 1)));
    operations.add(
        new Operation(
            "UnifiedBuffer.fill(Object)", LARGE, s -> s.buffer.fill(new float[] {1, 2, 3})));
    operations.add(
        new Operation(
            "UnifiedBuffer.fillAsync(byte)", LARGE, s -> s.buffer.fillAsync((byte) 1).join()));
    operations.add(
        new Operation(
            "UnifiedBuffer.fillAsync(Object)",
            LARGE,
            s -> s.buffer.fillAsync(new float[] {1, 2, 3}).join()));
  }

  private void views() {
    add("UnifiedBuffer.asSegment()", s -> touch(s.buffer.asSegment()));
    add(
        "UnifiedBuffer.asReadOnlySegment()",
        s -> s.buffer.asReadOnlySegment().get(JAVA_FLOAT_UNALIGNED, 0));
    add("UnifiedBuffer.asByteBuffer()", s -> s.buffer.asByteBuffer().putFloat(0, 1));
    for (MapMode mode : MapMode.values()) {
      add(
          "UnifiedBuffer.map(MapMode) " + mode,
          s -> {
            try (HostMapping mapping = s.buffer.map(mode)) {
              if (mode.writes()) {
                touch(mapping.segment());
              } else {
                mapping.segment().get(JAVA_FLOAT_UNALIGNED, 0);
              }
            }
          });
    }
    add(
        "UnifiedBuffer.map(MapMode,boolean)",
        s -> {
          try (HostMapping mapping = s.buffer.map(MapMode.READ_WRITE, true)) {
            touch(mapping.segment());
          }
        });
    add(
        "UnifiedBuffer.mapAsync(MapMode)",
        s -> {
          try (HostMapping mapping = s.buffer.mapAsync(MapMode.READ_WRITE).join()) {
            touch(mapping.segment());
          }
        });
    add(
        "UnifiedBuffer.slice(long,long)",
        s -> s.buffer.slice(1, s.length() - 1).copyTo(new float[s.length() - 1]));
    add(
        "UnifiedBuffer.as(ElementType)",
        s -> s.buffer.as(ElementType.INT).copyTo(new int[s.length()]));
    add(
        "UnifiedBuffer.as(ElementType) of structs",
        s -> s.buffer.as(PAIR).copyTo(0, new Pair[2], 0, 2));
    add(
        "UnifiedBuffer.synchronizeAsync()",
        s -> {
          s.buffer.synchronizeAsync().join();
          s.buffer.copyTo(s.array);
        });
    add(
        "UnifiedBuffer.synchronize()",
        s -> {
          s.buffer.synchronize();
          s.buffer.copyTo(s.array);
        });
    add(
        "UnifiedBuffer.prefetchToDevice()",
        s -> {
          s.buffer.prefetchToDevice();
          s.buffer.copyTo(s.array);
        });
    add(
        "UnifiedBuffer.prefetchToHost()",
        s -> {
          s.buffer.prefetchToHost();
          s.buffer.copyTo(s.array);
        });
  }

  /** Adds uses of the native pointer; accesses by native code itself are not covered. */
  private void lending() {
    add("NativeUse.read(UnifiedBuffer)", s -> touchLent(s, NativeUse.read(s.buffer)));
    add("NativeUse.write(UnifiedBuffer)", s -> touchLent(s, NativeUse.write(s.buffer)));
    add("NativeUse.readWrite(UnifiedBuffer)", s -> touchLent(s, NativeUse.readWrite(s.buffer)));
    add("NativeAccess.handle(UnifiedBuffer)", s -> touchLent(s, NativeUse.readWrite(s.buffer)));
  }

  private static void touchLent(Scene scene, NativeUse use) {
    try (NativeAccess access = scene.memory.lend(use.as(NativeKind.HOST_POINTER))) {
      MemorySegment bytes = access.handle(scene.buffer).segment();
      if (use.writes()) {
        touch(bytes);
      } else {
        bytes.get(JAVA_FLOAT_UNALIGNED, 0);
      }
    }
  }

  private static void touch(MemorySegment segment) {
    segment.set(JAVA_FLOAT_UNALIGNED, 0, segment.get(JAVA_FLOAT_UNALIGNED, 4) + 1);
  }

  private void kernels() {
    add(
        "Kernel.execute(Arguments)",
        s -> s.kernels.scale.execute(Arguments.of("x", s.buffer, "y", s.other)));
    add(
        "Kernel.execute(Arguments) in place",
        s -> s.kernels.scale.execute(Arguments.of("x", s.buffer, "y", s.buffer)));
    add(
        "Kernel.execute(Arguments) that writes",
        s -> s.kernels.fill.execute(Arguments.of("y", s.buffer, "x", s.other)));
    add(
        "Kernel.executeAsync(Arguments)",
        s -> s.kernels.scale.executeAsync(Arguments.of("x", s.buffer, "y", s.other)).join());
    if (memory.accelerator().capabilities().contains(Capability.JAVA_KERNELS)) {
      add(
          "Kernel.execute(Arguments,LaunchRange)",
          s ->
              s.kernels.java.execute(
                  Arguments.of("y", s.buffer), LaunchRange.of(Math.min(s.length(), 1024))));
      add(
          "Kernel.executeAsync(Arguments,LaunchRange)",
          s ->
              s.kernels
                  .java
                  .executeAsync(
                      Arguments.of("y", s.buffer), LaunchRange.of(Math.min(s.length(), 1024)))
                  .join());
    }
    ExecutionOptions here = ExecutionOptions.defaults().on(memory.accelerator().id());
    add(
        "ComputeOrchestrator.execute(String,Arguments)",
        s ->
            s.tidepool
                .orchestrator()
                .execute("vanished", Arguments.of("x", s.buffer, "y", s.other)));
    add(
        "ComputeOrchestrator.execute(String,Arguments,ExecutionOptions)",
        s ->
            s.tidepool
                .orchestrator()
                .execute("vanished", Arguments.of("x", s.buffer, "y", s.other), here));
    add(
        "ComputeOrchestrator.executeAsync(String,Arguments)",
        s ->
            s.tidepool
                .orchestrator()
                .executeAsync("vanished", Arguments.of("x", s.buffer, "y", s.other))
                .join());
    add(
        "ComputeOrchestrator.executeAsync(String,Arguments,ExecutionOptions)",
        s ->
            s.tidepool
                .orchestrator()
                .executeAsync("vanished", Arguments.of("x", s.buffer, "y", s.other), here)
                .join());
  }

  private void transfers() {
    add(
        "TransferEngine.copy(UnifiedBuffer,UnifiedBuffer)",
        s -> s.memory.transfers().copy(s.buffer, s.other));
    add(
        "TransferEngine.copyAsync(UnifiedBuffer,UnifiedBuffer)",
        s -> s.memory.transfers().copyAsync(s.other, s.buffer).join());
    add(
        "TransferEngine.copyAsync(UnifiedBuffer,UnifiedBuffer,TransferOptions)",
        s ->
            s.memory
                .transfers()
                .copyAsync(s.buffer, s.other, TransferOptions.builder().pipelining(false).build())
                .join());
    Map<String, Function<Scene, Transfer<float[]>>> pairs = new LinkedHashMap<>();
    pairs.put("Transfer.of(Object,UnifiedBuffer)", s -> Transfer.of(s.array, s.buffer));
    pairs.put("Transfer.of(UnifiedBuffer,Object)", s -> Transfer.of(s.buffer, s.array));
    pairs.put("Transfer.of(UnifiedBuffer,UnifiedBuffer)", s -> Transfer.of(s.buffer, s.other));
    pairs.put("Transfer.of(MemorySegment,UnifiedBuffer)", s -> Transfer.of(s.segment, s.other));
    pairs.put("Transfer.of(UnifiedBuffer,MemorySegment)", s -> Transfer.of(s.other, s.segment));
    TransferOptions plain = TransferOptions.defaults();
    TransferOptions verified = TransferOptions.builder().verified(true).build();
    pairs.forEach(
        (name, pair) -> {
          add(
              name + ", verified",
              s ->
                  s.memory
                      .transfers()
                      .transferAsync(List.of(pair.apply(s)), verified)
                      .join()
                      .orThrow());
          add(name, s -> s.memory.transfers().transfer(List.of(pair.apply(s)), plain).orThrow());
        });
    // Two transfers that are executed together.
    add(
        "TransferEngine.transfer(List,TransferOptions)",
        s ->
            s.memory
                .transfers()
                .transfer(
                    List.of(
                        Transfer.of(s.segment.asSlice(0, 512), s.other.slice(0, 128)),
                        Transfer.of(s.array, s.buffer),
                        Transfer.of(s.segment.asSlice(512, 512), s.other.slice(128, 128))),
                    plain)
                .orThrow());
    add(
        "TransferEngine.transferAsync(List,TransferOptions)",
        s ->
            s.memory
                .transfers()
                .transferAsync(
                    List.of(
                        Transfer.of(s.other.slice(0, 128), s.segment.asSlice(0, 512)),
                        Transfer.of(s.other.slice(128, 128), s.segment.asSlice(512, 512))),
                    plain)
                .join()
                .orThrow());
  }

  private void reductions() {
    add("Reductions.sum(UnifiedBuffer)", s -> Reductions.sum(s.buffer));
    add(
        "Reductions.sum(UnifiedBuffer,long,long)",
        s -> Reductions.sum(s.buffer, s.buffer.length() / 2, 2));
    add("Reductions.mean(UnifiedBuffer)", s -> Reductions.mean(s.buffer));
    add(
        "Reductions.mean(UnifiedBuffer,long,long)",
        s -> Reductions.mean(s.buffer, s.buffer.length() / 2, 2));
    add("Reductions.min(UnifiedBuffer)", s -> Reductions.min(s.buffer));
    add(
        "Reductions.min(UnifiedBuffer,long,long)",
        s -> Reductions.min(s.buffer, s.buffer.length() / 2, 2));
    add("Reductions.max(UnifiedBuffer)", s -> Reductions.max(s.buffer));
    add(
        "Reductions.max(UnifiedBuffer,long,long)",
        s -> Reductions.max(s.buffer, s.buffer.length() / 2, 2));
    add("Reductions.argMin(UnifiedBuffer)", s -> Reductions.argMin(s.buffer));
    add(
        "Reductions.argMin(UnifiedBuffer,long,long)",
        s -> Reductions.argMin(s.buffer, s.buffer.length() / 2, 2));
    add("Reductions.argMax(UnifiedBuffer)", s -> Reductions.argMax(s.buffer));
    add(
        "Reductions.argMax(UnifiedBuffer,long,long)",
        s -> Reductions.argMax(s.buffer, s.buffer.length() / 2, 2));
  }

  private void others() {
    add(
        "StructOfArrays.copyFrom(UnifiedBuffer)",
        s -> s.kernels.columns.copyFrom(s.buffer.as(PAIR)));
    add("StructOfArrays.copyTo(UnifiedBuffer)", s -> s.kernels.columns.copyTo(s.buffer.as(PAIR)));
    add(
        "StructOfArrays.copyFromAsync(UnifiedBuffer)",
        s -> s.kernels.columns.copyFromAsync(s.buffer.as(PAIR)).join());
    add(
        "StructOfArrays.copyToAsync(UnifiedBuffer)",
        s -> s.kernels.columns.copyToAsync(s.buffer.as(PAIR)).join());
    add(
        "PeerAccess.scatter(UnifiedBuffer,List)",
        s -> s.tidepool.peers().scatter(s.buffer, s.halves(s.other)));
    add(
        "PeerAccess.scatterAsync(UnifiedBuffer,List)",
        s -> s.tidepool.peers().scatterAsync(s.other, s.halves(s.buffer)).join());
    add(
        "PeerAccess.gather(List,UnifiedBuffer)",
        s -> s.tidepool.peers().gather(s.halves(s.other), s.buffer));
    add(
        "PeerAccess.gatherAsync(List,UnifiedBuffer)",
        s -> s.tidepool.peers().gatherAsync(s.halves(s.buffer), s.other).join());
    add(
        "PeerAccess.broadcast(UnifiedBuffer,List)",
        s -> s.tidepool.peers().broadcast(s.buffer, List.of(s.other)));
    add(
        "PeerAccess.broadcastAsync(UnifiedBuffer,List)",
        s -> s.tidepool.peers().broadcastAsync(s.other, List.of(s.buffer)).join());
    add(
        "Pipeline.from(String,UnifiedBuffer)",
        s ->
            Pipeline.from("x", s.buffer)
                .through("y = x * 2.0")
                .to("y", s.other)
                .on(s.memory)
                .run(StreamOptions.defaults()));
    add(
        "Pipeline.and(String,UnifiedBuffer)",
        s ->
            Pipeline.from("x", s.other)
                .and("z", s.buffer)
                .through("y = x * z")
                .to("y", s.other)
                .on(s.memory)
                .run(StreamOptions.defaults()));
    add(
        "Pipeline.to(String,UnifiedBuffer)",
        s ->
            Pipeline.from("x", s.other)
                .through("y = x * 2.0")
                .to("y", s.buffer)
                .on(s.memory)
                .run(StreamOptions.defaults()));
  }

  private void npyFiles() {
    NpyHeader header = NpyHeader.of(NpyType.FLOAT32, false, List.of((long) LENGTH));
    add(
        "NpyWriter.write(long,UnifiedBuffer)",
        s -> {
          try (NpyWriter writer = NpyWriter.create(folder.resolve("y.npy"), header, false)) {
            writer.write(0, s.buffer);
          }
        });
    add(
        "NpyReader.read(long,UnifiedBuffer)",
        s -> {
          try (NpyWriter writer = NpyWriter.create(folder.resolve("x.npy"), header, true)) {
            writer.commit();
          }
          try (NpyReader reader = NpyReader.open(folder.resolve("x.npy"))) {
            reader.read(0, s.buffer);
          }
        });
  }

  private void run() throws IOException {
    folder = Files.createTempDirectory("vanishing");
    tidepool.orchestrator().register("vanished", KernelSource.elementwise("y = x * 2.0"));
    JavaKernel body = item -> item.array(0).setAtIndex(JAVA_FLOAT_UNALIGNED, item.globalId(0), 1);
    try (StructOfArrays<Pair> columns = memory.allocateStructOfArrays(Pair.class, LENGTH / 2);
        StructOfArrays<Pair> few = memory.allocateStructOfArrays(Pair.class, SMALL / 2)) {
      Kernel scale = memory.compile(KernelSource.elementwise("y = x * 2.0"));
      Kernel fill = memory.compile(KernelSource.elementwise("y = x * 0.0 + 1.0"));
      Kernel java =
          memory.accelerator().capabilities().contains(Capability.JAVA_KERNELS)
              ? memory.compile(
                  KernelSource.java(body, KernelParameter.inout("y", ElementType.FLOAT)))
              : scale;
      for (Operation operation : operations) {
        for (Origin origin : Origin.values()) {
          Kernels kernels = new Kernels(scale, fill, java, columns);
          truncatedUnder(operation, origin, 0, kernels, kernels);
        }
        truncatedUnder(
            operation,
            Origin.VIEW,
            calls,
            new Kernels(scale, fill, java, columns),
            new Kernels(scale, fill, java, few));
      }
    }
    Files.deleteIfExists(folder.resolve("x.npy"));
    Files.delete(folder);
    System.out.println("the sweep has ended");
  }

  private void truncatedUnder(
      Operation operation, Origin origin, int warmUp, Kernels kernels, Kernels warm)
      throws IOException {
    System.out.println(
        "%s of %s on %s after %s calls"
            .formatted(operation.name, origin, memory.accelerator().id(), warmUp));
    Path file = Files.createTempFile("vanishing", ".bytes");
    List<Throwable> failures = new ArrayList<>();
    boolean shared = memory.accelerator().capabilities().contains(Capability.SHARED_MEMORY);
    try (Arena arena = Arena.ofShared();
        FileChannel channel =
            FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
      channel.write(ByteBuffer.allocate(1), 4L * operation.length - 1);
      MemorySegment segment = segment(channel, origin, arena);
      UnifiedBuffer<float[]> buffer = buffer(file, segment, origin);
      try (UnifiedBuffer<float[]> other = memory.allocate(ElementType.FLOAT, operation.length)) {
        float[] array = new float[operation.length];
        Scene scene = new Scene(tidepool, memory, buffer, segment, other, array, kernels);
        Scene front = new Scene(tidepool, memory, buffer, segment, other, array, warm).front(SMALL);
        for (int i = 0; i < warmUp; i++) {
          operation.action.accept(front);
        }
        channel.truncate(0);
        attempt(() -> operation.action.accept(scene), failures);
        attempt(memory::synchronize, failures);
      } finally {
        attempt(buffer::close, failures);
      }
    } finally {
      Files.delete(file);
    }
    failures.forEach(failure -> check(failure, operation));
    if (failures.isEmpty() && (warmUp == 0 || shared)) {
      throw new AssertionError(operation.name + " of " + origin + " found nothing wrong");
    }
  }

  private static void attempt(Runnable action, List<Throwable> failures) {
    try {
      action.run();
      TruncatedMapCheck.surface();
    } catch (RuntimeException | Error e) {
      failures.add(e);
    }
  }

  private static void check(Throwable failure, Operation operation) {
    Throwable cause =
        failure instanceof CompletionException && failure.getCause() != null
            ? failure.getCause()
            : failure;
    // A program must guard its own accesses to a segment.
    boolean own =
        operation.name.startsWith("UnifiedBuffer.as")
            || operation.name.startsWith("Native")
            || isMapping(operation);
    if (!(cause instanceof TransferException) && !(own && cause instanceof InternalError)) {
      throw new AssertionError(operation.name + " failed without a TransferException", failure);
    }
  }

  private static boolean isMapping(Operation operation) {
    return operation.name.startsWith("UnifiedBuffer.map");
  }

  private static MemorySegment segment(FileChannel channel, Origin origin, Arena arena)
      throws IOException {
    FileChannel.MapMode mode = FileChannel.MapMode.READ_WRITE;
    return switch (origin) {
      case FILE -> channel.map(mode, 0, channel.size(), arena);
      case VIEW -> MemorySegment.ofBuffer(channel.map(mode, 0, channel.size()).asFloatBuffer());
    };
  }

  private UnifiedBuffer<float[]> buffer(Path file, MemorySegment segment, Origin origin) {
    return switch (origin) {
      case FILE -> memory.map(file, ElementType.FLOAT, MapMode.READ_WRITE);
      case VIEW -> memory.wrap(ElementType.FLOAT, segment, MemoryLocation.PINNED);
    };
  }
}

package dev.tidepool.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.ComputeOrchestrator;
import dev.tidepool.Kernel;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.spi.Discovery;
import dev.tidepool.spi.HostAccess;
import dev.tidepool.testkit.conformance.VanishedMemory;
import dev.tidepool.testkit.simulated.SimulatedHardware;
import dev.tidepool.testkit.simulated.SimulatedProvider;
import java.io.IOException;
import java.lang.reflect.Executable;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;

/** A file that is truncated under a buffer is an exception, and never the end of the process. */
@EnabledOnOs(OS.LINUX)
class VanishedMemoryTest {
  /** Methods of buffers and with buffers that touch no bytes, or whose results are in the sweep. */
  private static final Set<String> OTHERS =
      Set.of(
          "UnifiedBuffer.accelerator()",
          "UnifiedBuffer.byteSize()",
          "UnifiedBuffer.close()",
          "UnifiedBuffer.elementType()",
          "UnifiedBuffer.length()",
          "UnifiedBuffer.location()",
          "UnifiedBuffer.metrics()",
          "UnifiedBuffer.state()",
          "UnifiedMemoryManager.wrap(ElementType,MemorySegment)",
          "UnifiedMemoryManager.wrap(ElementType,MemorySegment,MemoryLocation)",
          "UnifiedMemoryManager.wrap(ElementType,MemorySegment,MemoryLocation,String)",
          // Memory that is not the library's.
          "AbstractUnifiedBuffer.copyFrom(MemorySegment,long)",
          "AbstractUnifiedBuffer.copyFrom(UnifiedBuffer)",
          "AbstractUnifiedBuffer.copyFromAsync(MemorySegment,long)",
          "AbstractUnifiedBuffer.copyFromAsync(UnifiedBuffer)",
          "AbstractUnifiedBuffer.copyTo(long,MemorySegment)",
          "AbstractUnifiedBuffer.copyToAsync(long,MemorySegment)",
          // Only an address.
          "NativeHandle.of(MemorySegment)",
          // Segments, which a test of the library has a sweep for.
          "ElementType.read(MemorySegment,long,Object,int,int)",
          "ElementType.write(Object,int,MemorySegment,long,int)",
          // Called by pipelines.
          "ElementSource.load(long,UnifiedBuffer,UnifiedMemoryManager)",
          "NpyReader.load(long,UnifiedBuffer,UnifiedMemoryManager)");

  @Test
  void onTheCpu() throws Exception {
    VanishedMemory.inItsOwnProcess(OfTheCpu.class);
  }

  @Test
  void onDevicesOfEveryKind() throws Exception {
    VanishedMemory.inItsOwnProcess(OfDevices.class);
  }

  @Test
  void everyPublicMethodWithABufferIsInTheSweep() throws Exception {
    Set<String> missing = new TreeSet<>();
    Set<String> swept = VanishedMemory.methods();
    ClassLoader loader = VanishedMemoryTest.class.getClassLoader();
    // A folder of classes, or a jar where the library is packaged already.
    Path library =
        Path.of(UnifiedBuffer.class.getProtectionDomain().getCodeSource().getLocation().toURI());
    try (FileSystem jar =
        Files.isDirectory(library) ? null : FileSystems.newFileSystem(library, loader)) {
      Path root = jar == null ? library : jar.getPath("/");
      for (String room : List.of("", "diagnostics", "pooling", "transfer", "stream")) {
        String prefix = room.isEmpty() ? "" : room + ".";
        try (Stream<Path> files = Files.list(root.resolve("dev/tidepool").resolve(room))) {
          for (Path file : files.filter(file -> file.toString().endsWith(".class")).toList()) {
            String name = file.getFileName().toString().replaceAll("\\.class$", "");
            publicMethods(Class.forName("dev.tidepool." + prefix + name, false, loader))
                .filter(method -> !swept.contains(method) && !OTHERS.contains(method))
                .forEach(missing::add);
          }
        }
      }
    }
    assertThat(missing).as("add an operation for each to VanishedMemory").isEmpty();
  }

  private static Stream<String> publicMethods(Class<?> type) {
    return isPublic(type)
        ? Arrays.stream(type.getDeclaredMethods())
            .filter(method -> Modifier.isPublic(method.getModifiers()) && !method.isSynthetic())
            .filter(method -> touchesBytes(type, method))
            .map(method -> signature(type, method))
        : Stream.empty();
  }

  private static boolean touchesBytes(Class<?> type, Method method) {
    boolean runs = type == Kernel.class || type == ComputeOrchestrator.class;
    return type == UnifiedBuffer.class
        || (runs && method.getName().startsWith("execute"))
        || Arrays.stream(method.getGenericParameterTypes())
            .map(parameter -> parameter.getTypeName())
            .anyMatch(
                name ->
                    name.contains("UnifiedBuffer")
                        || name.contains("dev.tidepool.transfer.Transfer<")
                        || (!type.getPackageName().equals("dev.tidepool.stream")
                            && name.contains("MemorySegment")));
  }

  private static boolean isPublic(Class<?> type) {
    Class<?> outer = type.getEnclosingClass();
    return Modifier.isPublic(type.getModifiers()) && (outer == null || isPublic(outer));
  }

  private static String signature(Class<?> type, Executable method) {
    return type.getSimpleName()
        + "."
        + method.getName()
        + Arrays.stream(method.getParameterTypes())
            .map(Class::getSimpleName)
            .collect(Collectors.joining(",", "(", ")"));
  }

  static final class OfTheCpu {
    public static void main(String[] arguments) throws IOException {
      try (Tidepool tidepool = Discovery.using(List.of(), Tidepool::open)) {
        VanishedMemory.sweep(tidepool, "cpu:0", 1000);
      }
    }
  }

  static final class OfDevices {
    public static void main(String[] arguments) throws IOException {
      SimulatedHardware discrete = SimulatedHardware.discrete();
      for (HostAccess access : HostAccess.values()) {
        SimulatedProvider provider = new SimulatedProvider(discrete.withHostAccess(access));
        try (Tidepool tidepool = Discovery.using(List.of(provider), Tidepool::open)) {
          VanishedMemory.sweep(tidepool, "simulated:0", 30);
        }
        if (!provider.violations().isEmpty()) {
          throw new AssertionError(provider.violations());
        }
      }
    }
  }
}

package dev.tidepool;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.tidepool.diagnostics.BufferInfo;
import dev.tidepool.stream.Reductions;
import dev.tidepool.transfer.TransferEngine;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandles;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.time.Duration;
import java.util.Arrays;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** What may wait for a device, a file or other work has a form that returns at once. */
class AsyncFormsTest {
  private final UnifiedMemoryManager memory = UnifiedMemoryManager.create("cpu:0");

  @AfterEach
  void close() {
    assertThat(memory.buffers()).extracting(BufferInfo::tag).isEmpty();
    memory.close();
  }

  /** Types, and their methods that wait for nothing but locks that are held for moments. */
  static Stream<Arguments> types() {
    return Stream.of(
        Arguments.of(
            UnifiedBuffer.class,
            // A segment is fetched ahead by prefetchToHost, and mapped by mapAsync; before a close
            // that writes back comes synchronizeAsync.
            Set.of(
                "elementType",
                "length",
                "byteSize",
                "location",
                "state",
                "accelerator",
                "slice",
                "as",
                "metrics",
                "prefetchToDevice",
                "prefetchToHost",
                "asSegment",
                "asReadOnlySegment",
                "asByteBuffer",
                "close")),
        Arguments.of(
            StructOfArrays.class,
            Set.of(
                "structType", "length", "byteSize", "accelerator", "names", "component", "close")),
        Arguments.of(TransferEngine.class, Set.of("statistics")),
        Arguments.of(HostMapping.class, Set.of("segment", "mode", "close")),
        Arguments.of(
            UnifiedMemoryManager.class,
            // Files and segments are mapped and wrapped where they are.
            Set.of(
                "create",
                "accelerator",
                "wrap",
                "adopt",
                "map",
                "arrays",
                "statistics",
                "pools",
                "bytesByTag",
                "pushPeak",
                "buffers",
                "fragmentation",
                "reservations",
                "limit",
                "transfers",
                "close")));
  }

  @ParameterizedTest
  @MethodSource("types")
  void everyOtherMethodHasAnAsynchronousForm(Class<?> type, Set<String> immediate) {
    Set<String> names =
        Arrays.stream(type.getMethods())
            .filter(method -> !Modifier.isStatic(method.getModifiers()))
            .filter(method -> method.getDeclaringClass() != Object.class)
            .map(Method::getName)
            .collect(Collectors.toCollection(TreeSet::new));
    assertThat(names)
        .filteredOn(name -> !name.endsWith("Async") && !immediate.contains(name))
        .allSatisfy(name -> assertThat(names).contains(name + "Async"));
  }

  @Test
  void lentBuffersComeLaterAndAreGivenBackIfNobodyWantsThem() throws Exception {
    try (UnifiedBuffer<float[]> x = memory.copyOf(new float[] {1, 2, 3})) {
      try (NativeAccess access = memory.lendAsync(NativeUse.readWrite(x)).get()) {
        assertThat(access.handle(x).byteSize()).isEqualTo(12);
        assertThatThrownBy(() -> x.fill((byte) 0)).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(() -> memory.lendAsync(NativeUse.read(x)).join())
            .hasCauseInstanceOf(IllegalStateException.class);
      }
      assertThatThrownBy(() -> memory.lendOnAsync(0, NativeUse.read(x)).join())
          .hasCauseInstanceOf(UnsupportedOperationException.class);
      for (int i = 0; i < 100; i++) {
        CompletableFuture<NativeAccess> asked = memory.lendAsync(NativeUse.readWrite(x));
        if (!asked.cancel(false)) {
          asked.handle((access, _) -> access).thenAccept(AsyncFormsTest::closeIfAny).join();
        }
      }
      await().ignoreException(IllegalStateException.class).until(() -> filled(x));
    }
  }

  private static void closeIfAny(NativeAccess access) {
    if (access != null) {
      access.close();
    }
  }

  /** Fills a buffer, which is refused while it is lent. */
  private static boolean filled(UnifiedBuffer<float[]> x) {
    x.fill((byte) 0);
    return true;
  }

  @Test
  void buffersKernelsAndReservationsComeLater() throws Exception {
    try (UnifiedBuffer<float[]> x = memory.copyOfAsync(new float[] {1, 2, 3}).get();
        Kernel twice = memory.compileAsync(KernelSource.elementwise("x = 2*x")).get();
        Reservation reserved =
            memory.reserveAsync("later", 1 << 20, Duration.ofSeconds(30)).get()) {
      twice.execute(dev.tidepool.Arguments.of("x", x));
      assertThat(Reductions.async(() -> Reductions.sum(x)).get()).isEqualTo(12f);
      assertThat(reserved.bytes()).isGreaterThanOrEqualTo(1 << 20);
    }
    record Point(float x, float y) {}
    memory
        .allocateStructOfArraysAsync(
            ElementType.struct(Point.class, MethodHandles.lookup()),
            10,
            Allocation.at(MemoryLocation.DEVICE))
        .get()
        .close();
    assertThat(memory.trimExcessAsync().get()).isNotNegative();
    assertThat(memory.snapshotAsync().get().toJson()).contains("tidepool-snapshot");
    assertThatThrownBy(() -> memory.checkGuardsAsync().join())
        .hasCauseInstanceOf(IllegalStateException.class)
        .hasMessageContaining("diagnostics=paranoid");
    assertThat(memory.suspendAsync().get()).isNotNull();
    assertThat(memory.resumeAsync().get()).isNotNegative();
    assertThatThrownBy(() -> memory.transfers().calibrateAsync().join())
        .hasCauseInstanceOf(UnsupportedOperationException.class)
        .hasMessageContaining("cpu:0 uses the host's memory");
  }

  @Test
  void aMappingComesInTheOrderOfTheBuffersWork() throws Exception {
    try (UnifiedBuffer<int[]> buffer = memory.copyOf(new int[100_000])) {
      CompletableFuture<Void> filled = buffer.fillAsync(new int[] {7});
      try (HostMapping mapping = buffer.mapAsync(MapMode.READ_WRITE).get()) {
        assertThat(mapping.segment().getAtIndex(ValueLayout.JAVA_INT, 99_999)).isEqualTo(7);
        mapping.segment().setAtIndex(ValueLayout.JAVA_INT, 3, 9);
      }
      // Another thread completes it than the mapping's future.
      filled.join();
      int[] seen = new int[100_000];
      buffer.copyTo(seen);
      assertThat(seen[3]).isEqualTo(9);
    }
  }

  @Test
  void mistakesFailAtOnceOrInTheFuture() {
    UnifiedBuffer<int[]> buffer = memory.allocate(ElementType.INT, 4);
    buffer.close();
    assertThatThrownBy(() -> buffer.mapAsync(MapMode.READ))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("closed");
    assertThatThrownBy(() -> memory.compileAsync(KernelSource.elementwise("y = nothing(x)")).join())
        .isInstanceOf(CompletionException.class)
        .hasMessageContaining("nothing");
    assertThatThrownBy(() -> memory.copyOfAsync("text").join())
        .isInstanceOf(CompletionException.class)
        .hasCauseInstanceOf(IllegalArgumentException.class);
  }
}

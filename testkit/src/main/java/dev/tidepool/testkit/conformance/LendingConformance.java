package dev.tidepool.testkit.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.Arguments;
import dev.tidepool.ElementType;
import dev.tidepool.HostMapping;
import dev.tidepool.Kernel;
import dev.tidepool.MapMode;
import dev.tidepool.MemoryLocation;
import dev.tidepool.MemoryOptions;
import dev.tidepool.NativeAccess;
import dev.tidepool.NativeHandle;
import dev.tidepool.NativeKind;
import dev.tidepool.NativeUse;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.transfer.TransferStatistics;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.FloatBuffer;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/**
 * Buffers are lent to native code and returned. Each backend tests code on the device separately;
 * here native code has host pointers.
 */
public abstract class LendingConformance extends Topic {
  private static final int LENGTH = 1_000;

  private static void fill(MemorySegment segment, float[] values) {
    ElementType.FLOAT.write(values, 0, segment, 0, values.length);
  }

  @TestFactory
  Stream<DynamicTest> aHostPointerShowsWhatAKernelWroteAndAKernelSeesWhatIsWrittenThere() {
    return inEveryLocation(
        location -> {
          UnifiedBuffer<float[]> x = patterned(LENGTH, location, 1);
          UnifiedBuffer<float[]> y = buffer(ElementType.FLOAT, LENGTH, location);
          Kernel copy = bench().kernel("y = x");
          copy.execute(Arguments.of("x", x, "y", y));
          try (NativeAccess access =
              memory().lend(NativeUse.readWrite(y).as(NativeKind.HOST_POINTER))) {
            NativeHandle handle = access.handle(y);
            assertThat(handle.kind()).isEqualTo(NativeKind.HOST_POINTER);
            assertThat(handle.byteSize()).isEqualTo(y.byteSize());
            Patterns.assertEqual(
                contents(ElementType.FLOAT, handle.segment()), pattern(LENGTH, 1), "contents");
            fill(handle.segment(), pattern(LENGTH, 2));
          }
          copy.execute(Arguments.of("x", y, "y", x));
          Patterns.assertEqual(contents(x), pattern(LENGTH, 2), "contents");
        });
  }

  @TestFactory
  Stream<DynamicTest> aHostPointerWaitsForKernelsThatHaveNotEnded() {
    return inEveryLocation(
        location -> {
          UnifiedBuffer<float[]> y = buffer(ElementType.FLOAT, LENGTH, location);
          y.fill(new float[] {0});
          Kernel next = bench().kernel("y = y + 1");
          for (int i = 0; i < 10; i++) {
            next.executeAsync(Arguments.of("y", y));
          }
          try (NativeAccess access =
              memory().lend(NativeUse.readWrite(y).as(NativeKind.HOST_POINTER))) {
            float[] seen = contents(ElementType.FLOAT, access.handle(y).segment());
            assertThat(seen).containsOnly(10);
            fill(access.handle(y).segment(), pattern(LENGTH, 3));
          }
          next.execute(Arguments.of("y", y));
          float[] expected = pattern(LENGTH, 3);
          for (int i = 0; i < LENGTH; i++) {
            expected[i] += 1;
          }
          Patterns.assertEqual(contents(y), expected, "contents");
        });
  }

  @TestFactory
  Stream<DynamicTest> aHandleOfTheDeviceKeepsTheContents() {
    return inEveryLocation(
        location -> {
          UnifiedBuffer<float[]> x = patterned(LENGTH, location, 1);
          UnifiedBuffer<float[]> y = patterned(LENGTH, location, 2);
          try (NativeAccess access = memory().lend(NativeUse.read(x), NativeUse.readWrite(y))) {
            assertThat(access.handle(x).byteSize()).isEqualTo(x.byteSize());
            assertThat(access.handle(y).byteSize()).isEqualTo(y.byteSize());
            assertThat(access.handle(x).value()).isNotZero();
            boolean hasQueue = access.handle(x).kind() != NativeKind.HOST_POINTER;
            assertThat(access.queue() != 0).isEqualTo(hasQueue);
            assertThat(access.context() != 0).isEqualTo(hasQueue);
          }
          Patterns.assertEqual(contents(x), pattern(LENGTH, 1), "contents");
          Patterns.assertEqual(contents(y), pattern(LENGTH, 2), "contents");
        });
  }

  @Test
  void lendingAgainMovesNothing() {
    UnifiedBuffer<float[]> x = patterned(LENGTH, MemoryLocation.DEVICE, 1);
    UnifiedBuffer<float[]> y = patterned(LENGTH, MemoryLocation.DEVICE, 2);
    memory().lend(NativeUse.read(x), NativeUse.readWrite(y)).close();
    TransferStatistics before = bench().moved();
    for (int i = 0; i < 100; i++) {
      memory().lend(NativeUse.read(x), NativeUse.readWrite(y)).close();
    }
    memory().synchronize();
    assertThat(bench().moved().hostToDeviceBytes()).isEqualTo(before.hostToDeviceBytes());
    assertThat(bench().moved().deviceToHostBytes()).isEqualTo(before.deviceToHostBytes());
  }

  @Test
  void whatIsKeptOfTheHostsBytesIsUsedAgainAndAgainWhileItIsLent() {
    UnifiedBuffer<float[]> x = patterned(LENGTH, MemoryLocation.DEVICE, 1);
    UnifiedBuffer<float[]> y = buffer(ElementType.FLOAT, LENGTH, MemoryLocation.DEVICE);
    FloatBuffer input = x.asByteBuffer().asFloatBuffer();
    FloatBuffer output = y.asByteBuffer().asFloatBuffer();
    Kernel count = bench().kernel("x = a");
    Kernel twice = bench().kernel("y = y + y");
    for (int round = 1; round <= 5; round++) {
      count.execute(Arguments.of("x", x, "a", (float) round));
      try (NativeAccess _ =
          memory()
              .lend(
                  NativeUse.read(x).as(NativeKind.HOST_POINTER),
                  NativeUse.write(y).as(NativeKind.HOST_POINTER))) {
        for (int i = 0; i < LENGTH; i++) {
          output.put(i, input.get(i) + 1);
        }
      }
      twice.execute(Arguments.of("y", y));
      assertThat(contents(y)).containsOnly(2 * (round + 1));
    }
  }

  @TestFactory
  Stream<DynamicTest> aSliceIsLentAsItsRange() {
    return inEveryLocation(
        location -> {
          UnifiedBuffer<float[]> whole = patterned(LENGTH, location, 1);
          UnifiedBuffer<float[]> slice = whole.slice(128, 64);
          try (NativeAccess access =
              memory().lend(NativeUse.write(slice).as(NativeKind.HOST_POINTER))) {
            assertThat(access.handle(slice).byteSize()).isEqualTo(64 * Float.BYTES);
            fill(access.handle(slice).segment(), pattern(64, 9));
          }
          float[] expected = pattern(LENGTH, 1);
          System.arraycopy(pattern(64, 9), 0, expected, 128, 64);
          Patterns.assertEqual(contents(whole), expected, "contents");
        });
  }

  @TestFactory
  Stream<DynamicTest> aBufferThatWasLentInPartsIsRefusedToOthersWhenItIsLentAgain() {
    return inEveryLocation(
        location -> {
          UnifiedBuffer<float[]> x = patterned(LENGTH, location, 1);
          UnifiedBuffer<float[]> front = x.slice(0, 640);
          UnifiedBuffer<float[]> back = x.slice(640, LENGTH - 640);
          memory().lend(NativeUse.readWrite(front), NativeUse.readWrite(back)).close();
          memory().lend(NativeUse.read(front), NativeUse.write(back.slice(0, 0))).close();
          try (NativeAccess access = memory().lend(NativeUse.readWrite(x))) {
            assertThatThrownBy(() -> contents(x))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("lent");
            assertThat(access.handle(x).byteSize()).isEqualTo(x.byteSize());
          }
          Patterns.assertEqual(contents(x), pattern(LENGTH, 1), "contents");
        });
  }

  @TestFactory
  Stream<DynamicTest> whatIsReadIsThereThoughItOverlapsWhatIsWritten() {
    return inEveryLocation(
        location -> {
          UnifiedBuffer<float[]> x = patterned(LENGTH, location, 1);
          UnifiedBuffer<float[]> y = buffer(ElementType.FLOAT, LENGTH, location);
          y.fill((byte) 0);
          y.synchronize();
          bench().kernel("y = x").execute(Arguments.of("x", x, "y", y));
          UnifiedBuffer<float[]> written = y.slice(0, 500);
          UnifiedBuffer<float[]> read = y.slice(400, 600);
          try (NativeAccess access =
              memory()
                  .lend(
                      NativeUse.write(written).as(NativeKind.HOST_POINTER),
                      NativeUse.read(read).as(NativeKind.HOST_POINTER))) {
            Patterns.assertEqual(
                contents(ElementType.FLOAT, access.handle(read).segment()),
                Patterns.range(ElementType.FLOAT, pattern(LENGTH, 1), 400, LENGTH),
                "what is read");
          }
        });
  }

  @TestFactory
  Stream<DynamicTest> whatIsLentForWritingIsRefusedToAllOthers() {
    return inEveryLocation(
        location -> {
          UnifiedBuffer<float[]> x = patterned(LENGTH, location, 1);
          UnifiedBuffer<float[]> other = patterned(LENGTH, location, 2);
          Kernel copy = bench().kernel("y = x");
          try (NativeAccess access = memory().lend(NativeUse.readWrite(x))) {
            List<Runnable> refused =
                List.of(
                    () -> contents(x),
                    () -> x.copyFrom(pattern(LENGTH, 3)),
                    () -> x.fill(new float[] {1}),
                    x::asReadOnlySegment,
                    x::synchronize,
                    () -> x.map(MapMode.READ).close(),
                    () -> copy.execute(Arguments.of("x", x, "y", other)),
                    () -> other.copyFrom(x),
                    () -> memory().lend(NativeUse.read(x)).close());
            for (Runnable work : refused) {
              assertThatThrownBy(work::run)
                  .isInstanceOf(IllegalStateException.class)
                  .hasMessageContaining("lent")
                  .hasMessageContaining("NativeAccess");
            }
            assertThat(access.handle(x).byteSize()).isEqualTo(x.byteSize());
          }
          Patterns.assertEqual(contents(x), pattern(LENGTH, 1), "contents");
          Patterns.assertEqual(contents(other), pattern(LENGTH, 2), "contents");
        });
  }

  @TestFactory
  Stream<DynamicTest> whatIsLentForReadingIsRefusedToWriters() {
    return inEveryLocation(
        location -> {
          UnifiedBuffer<float[]> x = patterned(LENGTH, location, 1);
          UnifiedBuffer<float[]> y = buffer(ElementType.FLOAT, LENGTH, location);
          bench().kernel("y = x").execute(Arguments.of("x", x, "y", y));
          // What native code wrote before forbids nothing now.
          UnifiedBuffer<float[]> written = x.slice(0, 64);
          memory().lend(NativeUse.readWrite(written), NativeUse.read(x.slice(128, 64))).close();
          try (NativeAccess access = memory().lend(NativeUse.read(x))) {
            assertThatThrownBy(() -> x.fill(new float[] {1}))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("lent");
            assertThatThrownBy(() -> memory().lend(NativeUse.write(x)))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("lent");
            if (readsSideBySide(x)) {
              memory().lend(NativeUse.read(x)).close();
              Patterns.assertEqual(contents(x), pattern(LENGTH, 1), "contents");
            }
            assertThat(access.handle(x).byteSize()).isEqualTo(x.byteSize());
          }
          x.fill(new float[] {4});
          assertThat(contents(x)).containsOnly(4);
        });
  }

  /** Returns whether a lent buffer may be read; false if host and device take turns. */
  private boolean readsSideBySide(UnifiedBuffer<?> buffer) {
    try {
      memory().lend(NativeUse.read(buffer)).close();
      return true;
    } catch (IllegalStateException turns) {
      assertThat(turns).hasMessageContaining("takes turns");
      return false;
    }
  }

  @Test
  void allBuffersAreLentOrNone() {
    UnifiedBuffer<float[]> x = patterned(LENGTH, MemoryLocation.DEVICE, 1);
    UnifiedBuffer<float[]> y = patterned(LENGTH, MemoryLocation.DEVICE, 2);
    try (HostMapping mapping = y.map(MapMode.READ_WRITE)) {
      assertThatThrownBy(() -> memory().lend(NativeUse.readWrite(x), NativeUse.read(y)))
          .isInstanceOf(IllegalStateException.class)
          .hasMessageContaining("mapped")
          .hasMessageContaining("native code");
      x.fill(new float[] {3});
      assertThat(mapping.segment().byteSize()).isEqualTo(y.byteSize());
    }
    assertThat(contents(x)).containsOnly(3);
  }

  @Test
  void badUsesAreRefused() {
    UnifiedBuffer<float[]> x = patterned(LENGTH, MemoryLocation.DEVICE, 1);
    assertThatThrownBy(() -> memory().lend())
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("name the buffers");
    assertThatThrownBy(() -> memory().lend(NativeUse.read(x), NativeUse.write(x)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("twice");
    for (UnifiedMemoryManager other : bench().otherManagers()) {
      assertThatThrownBy(() -> other.lend(NativeUse.read(x)))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("another manager");
    }
    NativeKind others =
        bench().accelerator().id().startsWith("metal")
            ? NativeKind.CUDA_POINTER
            : NativeKind.METAL_BUFFER;
    assertThatThrownBy(() -> memory().lend(NativeUse.read(x).as(others)))
        .isInstanceOf(UnsupportedOperationException.class)
        .hasMessageContaining(others.name());
    UnifiedBuffer<float[]> closed = memory().allocate(ElementType.FLOAT, LENGTH);
    closed.close();
    assertThatThrownBy(() -> memory().lend(NativeUse.read(x), NativeUse.read(closed)))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("closed");
    Patterns.assertEqual(contents(x), pattern(LENGTH, 1), "contents");
    x.fill(new float[] {1});
  }

  @Test
  void aClosedAccessGivesNothing() {
    UnifiedBuffer<float[]> x = patterned(LENGTH, MemoryLocation.DEVICE, 1);
    UnifiedBuffer<float[]> y = patterned(LENGTH, MemoryLocation.DEVICE, 1);
    NativeAccess access = memory().lend(NativeUse.read(x));
    assertThatThrownBy(() -> access.handle(y))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("was not lent");
    access.close();
    access.close();
    assertThatThrownBy(() -> access.handle(x)).isInstanceOf(IllegalStateException.class);
    assertThatThrownBy(access::queue).isInstanceOf(IllegalStateException.class);
    assertThatThrownBy(access::context).isInstanceOf(IllegalStateException.class);
    assertThatThrownBy(access::device).isInstanceOf(IllegalStateException.class);
  }

  @TestFactory
  Stream<DynamicTest> aBufferThatIsClosedWhileItIsLentIsFreedWithTheAccess() {
    return inEveryLocation(
        location -> {
          UnifiedBuffer<float[]> x = memory().allocate(ElementType.FLOAT, LENGTH, location);
          x.copyFrom(pattern(LENGTH, 1));
          long before = memory().statistics().totalFreed();
          try (NativeAccess access =
              memory().lend(NativeUse.readWrite(x).as(NativeKind.HOST_POINTER))) {
            x.close();
            memory().synchronize();
            assertThat(memory().statistics().totalFreed()).isEqualTo(before);
            fill(access.handle(x).segment(), pattern(LENGTH, 2));
          }
          eventually("the buffer is freed", () -> memory().statistics().totalFreed() == before + 1);
        });
  }

  @Test
  void memoryOfTheCallerHasTheResultsWhenTheAccessCloses() {
    try (Arena arena = Arena.ofShared()) {
      MemorySegment memory = arena.allocate(ElementType.FLOAT.bytes(LENGTH), Float.BYTES);
      fill(memory, pattern(LENGTH, 1));
      UnifiedBuffer<float[]> wrapped = memory().wrap(ElementType.FLOAT, memory);
      UnifiedBuffer<float[]> y = patterned(LENGTH, MemoryLocation.DEVICE, 5);
      bench().kernel("y = x").execute(Arguments.of("x", y, "y", wrapped));
      NativeAccess access = memory().lend(NativeUse.readWrite(wrapped));
      wrapped.close();
      access.close();
      Patterns.assertEqual(contents(ElementType.FLOAT, memory), pattern(LENGTH, 5), "contents");
    }
  }

  @Test
  void anEmptyBufferIsLent() {
    UnifiedBuffer<float[]> none = buffer(ElementType.FLOAT, 0, MemoryLocation.DEVICE);
    try (NativeAccess access =
        memory().lend(NativeUse.readWrite(none).as(NativeKind.HOST_POINTER))) {
      assertThat(access.handle(none).byteSize()).isZero();
    }
    try (NativeAccess access = memory().lend(NativeUse.readWrite(none))) {
      assertThat(access.handle(none).byteSize()).isZero();
    }
  }

  @Test
  void aVirtualThreadLends() throws InterruptedException {
    UnifiedBuffer<float[]> x = patterned(LENGTH, MemoryLocation.DEVICE, 1);
    float[][] seen = new float[1][];
    Thread.ofVirtual()
        .start(
            () -> {
              try (NativeAccess access =
                  memory().lend(NativeUse.read(x).as(NativeKind.HOST_POINTER))) {
                seen[0] = contents(ElementType.FLOAT, access.handle(x).segment());
              }
            })
        .join();
    assertThat(seen[0]).isEqualTo(pattern(LENGTH, 1));
  }

  @Test
  void aManagerThatClosesEndsWhatIsLent() {
    UnifiedMemoryManager other = bench().manager(bench().accelerator(), MemoryOptions.defaults());
    UnifiedBuffer<float[]> x = other.allocate(ElementType.FLOAT, LENGTH);
    x.copyFrom(pattern(LENGTH, 1));
    NativeAccess access = other.lend(NativeUse.readWrite(x));
    other.close();
    assertThat(other.statistics().activeBuffers()).isZero();
    assertThatThrownBy(access::queue).isInstanceOf(IllegalStateException.class);
    access.close();
  }
}

package dev.tidepool.testkit.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.Arguments;
import dev.tidepool.ElementType;
import dev.tidepool.HostMapping;
import dev.tidepool.Kernel;
import dev.tidepool.MapMode;
import dev.tidepool.MemoryLocation;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.transfer.TransferStatistics;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** A mapping is a scope with access to the bytes, which excludes the device meanwhile. */
public abstract class MappingConformance extends Topic {
  private static final int LENGTH = 10_007;

  @TestFactory
  Stream<DynamicTest> aMappingInTheBackgroundComesInTheOrderOfTheWork() {
    return inEveryLocation(
        location -> {
          UnifiedBuffer<float[]> buffer = buffer(ElementType.FLOAT, LENGTH, location);
          var filled = buffer.copyFromAsync(pattern(LENGTH, 3));
          try (HostMapping mapping = buffer.mapAsync(MapMode.READ_WRITE).join()) {
            filled.join();
            Patterns.assertEqual(
                contents(ElementType.FLOAT, mapping.segment()), pattern(LENGTH, 3), "mapped");
            ElementType.FLOAT.write(pattern(LENGTH, 4), 0, mapping.segment(), 0, LENGTH);
          }
          Patterns.assertEqual(contents(buffer), pattern(LENGTH, 4), "written");
          bench().kernel("y = y + 0").execute(Arguments.of("y", buffer));
          Patterns.assertEqual(contents(buffer), pattern(LENGTH, 4), "as a kernel sees it");
        });
  }

  @Test
  void aMappingThatNobodyWaitsForEnds() {
    UnifiedBuffer<float[]> buffer = patterned(LENGTH, MemoryLocation.DEVICE, 1);
    for (int i = 0; i < 20; i++) {
      CompletableFuture<HostMapping> mapping = buffer.mapAsync(MapMode.WRITE);
      if (!mapping.cancel(false)) {
        mapping.join().close();
      }
    }
    eventually("the device may write again", () -> mayCompute(buffer));
  }

  private boolean mayCompute(UnifiedBuffer<float[]> buffer) {
    try {
      bench().kernel("y = y + 1").execute(Arguments.of("y", buffer));
      return true;
    } catch (IllegalStateException mapped) {
      return false;
    }
  }

  @TestFactory
  Stream<DynamicTest> aReadingMappingShowsTheContentsAndRefusesWrites() {
    return inEveryLocation(
        location -> {
          UnifiedBuffer<float[]> buffer = patterned(LENGTH, location, 1);
          try (HostMapping mapping = buffer.map(MapMode.READ)) {
            assertThat(mapping.mode()).isEqualTo(MapMode.READ);
            assertThat(mapping.segment().byteSize()).isEqualTo(buffer.byteSize());
            assertThat(mapping.segment().isReadOnly()).isTrue();
            Patterns.assertEqual(
                contents(ElementType.FLOAT, mapping.segment()), pattern(LENGTH, 1), "mapped");
          }
        });
  }

  @TestFactory
  Stream<DynamicTest> whatAMappingWroteIsTheBuffersContents() {
    return inEveryLocation(
        location -> {
          UnifiedBuffer<float[]> buffer = patterned(LENGTH, location, 1);
          for (MapMode mode : new MapMode[] {MapMode.WRITE, MapMode.READ_WRITE}) {
            float[] fresh = pattern(LENGTH, mode.reads() ? 7 : 6);
            try (HostMapping mapping = buffer.map(mode)) {
              ElementType.FLOAT.write(fresh, 0, mapping.segment(), 0, LENGTH);
            }
            Patterns.assertEqual(contents(buffer), fresh, "written through a mapping");
            UnifiedBuffer<float[]> out = buffer(ElementType.FLOAT, LENGTH, MemoryLocation.DEVICE);
            bench().kernel("y = x").execute(Arguments.of("x", buffer, "y", out));
            Patterns.assertEqual(contents(out), fresh, "as a kernel sees it");
          }
        });
  }

  @TestFactory
  Stream<DynamicTest> aMappingOfASliceIsTheSliceOnly() {
    return inEveryLocation(
        location -> {
          UnifiedBuffer<float[]> buffer = patterned(LENGTH, location, 1);
          float[] fresh = pattern(100, 2);
          try (UnifiedBuffer<float[]> slice = buffer.slice(501, 100);
              HostMapping mapping = slice.map(MapMode.WRITE)) {
            assertThat(mapping.segment().byteSize()).isEqualTo(400);
            ElementType.FLOAT.write(fresh, 0, mapping.segment(), 0, 100);
          }
          Patterns.assertEqual(
              contents(buffer),
              Patterns.overlaid(ElementType.FLOAT, pattern(LENGTH, 1), 501, fresh),
              "around the slice");
        });
  }

  @TestFactory
  Stream<DynamicTest> theDeviceDoesNotWriteUnderAMapping() {
    return inEveryLocation(
        location -> {
          UnifiedBuffer<float[]> buffer = patterned(LENGTH, location, 1);
          Kernel write = bench().kernel("y = y + 1");
          for (MapMode mode : MapMode.values()) {
            try (HostMapping mapping = buffer.map(mode)) {
              assertThatThrownBy(
                      () -> write.execute(Arguments.of("y", buffer)),
                      "under a mapping to %s",
                      mapping.mode())
                  .isInstanceOf(IllegalStateException.class);
              if (mode.writes()) {
                ElementType.FLOAT.write(pattern(LENGTH, 1), 0, mapping.segment(), 0, LENGTH);
              }
            }
          }
          write.execute(Arguments.of("y", buffer));
          float[] model = pattern(LENGTH, 1);
          for (int i = 0; i < LENGTH; i++) {
            model[i] += 1;
          }
          Patterns.assertEqual(contents(buffer), model, "once, after the mappings");
        });
  }

  @TestFactory
  Stream<DynamicTest> theDeviceReadsUnderAReadingMappingOnly() {
    return inEveryLocation(
        location -> {
          UnifiedBuffer<float[]> buffer = patterned(LENGTH, location, 1);
          UnifiedBuffer<float[]> out = buffer(ElementType.FLOAT, LENGTH, MemoryLocation.DEVICE);
          Kernel read = bench().kernel("y = x");
          try (HostMapping mapping = buffer.map(MapMode.READ)) {
            read.execute(Arguments.of("x", buffer, "y", out));
            Patterns.assertEqual(contents(out), pattern(LENGTH, 1), "read under a mapping");
            Patterns.assertEqual(
                contents(ElementType.FLOAT, mapping.segment()), pattern(LENGTH, 1), "mapped");
          }
          for (MapMode mode : new MapMode[] {MapMode.WRITE, MapMode.READ_WRITE}) {
            try (HostMapping mapping = buffer.map(mode)) {
              assertThatThrownBy(
                      () -> read.execute(Arguments.of("x", buffer, "y", out)),
                      "under a mapping to %s",
                      mapping.mode())
                  .isInstanceOf(IllegalStateException.class);
            }
          }
        });
  }

  @TestFactory
  Stream<DynamicTest> aConfinedMappingBelongsToItsThread() {
    return inEveryLocation(
        location -> {
          UnifiedBuffer<float[]> buffer = patterned(LENGTH, location, 1);
          try (HostMapping mapping = buffer.map(MapMode.READ_WRITE)) {
            MemorySegment segment = mapping.segment();
            assertThat(thrownElsewhere(() -> segment.get(ValueLayout.JAVA_BYTE, 0)))
                .isInstanceOf(WrongThreadException.class);
            assertThat(thrownElsewhere(mapping::close)).isInstanceOf(WrongThreadException.class);
            Patterns.assertEqual(
                contents(ElementType.FLOAT, segment), pattern(LENGTH, 1), "still open");
          }
        });
  }

  @TestFactory
  Stream<DynamicTest> aSharedMappingServesEveryThread() {
    return inEveryLocation(
        location -> {
          UnifiedBuffer<float[]> buffer = patterned(LENGTH, location, 1);
          HostMapping mapping = buffer.map(MapMode.READ_WRITE, true);
          assertThat(
                  thrownElsewhere(
                      () -> {
                        ElementType.FLOAT.write(
                            pattern(LENGTH, 2), 0, mapping.segment(), 0, LENGTH);
                        mapping.close();
                      }))
              .isNull();
          Patterns.assertEqual(contents(buffer), pattern(LENGTH, 2), "by another thread");
        });
  }

  @TestFactory
  Stream<DynamicTest> aMappingsSegmentEndsWithIt() {
    return inEveryLocation(
        location -> {
          UnifiedBuffer<float[]> buffer = patterned(LENGTH, location, 1);
          for (boolean shared : new boolean[] {false, true}) {
            HostMapping mapping = buffer.map(MapMode.READ, shared);
            MemorySegment segment = mapping.segment();
            mapping.close();
            mapping.close();
            assertThatThrownBy(() -> segment.get(ValueLayout.JAVA_BYTE, 0))
                .isInstanceOf(IllegalStateException.class);
            assertThatThrownBy(mapping::segment).isInstanceOf(IllegalStateException.class);
          }
        });
  }

  @Test
  void twoThreadsMayCloseASharedMappingAtOnce() throws Exception {
    UnifiedBuffer<float[]> buffer = patterned(10, MemoryLocation.DEVICE, 1);
    for (int i = 0; i < 100; i++) {
      HostMapping mapping = buffer.map(MapMode.READ, true);
      CyclicBarrier together = new CyclicBarrier(2);
      FutureTask<Void> closing =
          new FutureTask<>(
              () -> {
                together.await();
                mapping.close();
                return null;
              });
      Thread.ofPlatform().start(closing);
      together.await();
      mapping.close();
      closing.get();
    }
    buffer.fill((byte) 0);
    assertThat(contents(buffer)).containsOnly(0f);
  }

  @TestFactory
  Stream<DynamicTest> aBufferClosedWhileMappedIsFreedWhenTheMappingCloses() {
    return inEveryLocation(
        location -> {
          UnifiedBuffer<float[]> buffer = patterned(LENGTH, location, 1);
          HostMapping mapping = buffer.map(MapMode.READ);
          buffer.close();
          assertThatThrownBy(buffer::state).isInstanceOf(IllegalStateException.class);
          Patterns.assertEqual(
              contents(ElementType.FLOAT, mapping.segment()), pattern(LENGTH, 1), "still mapped");
          assertThat(memory().statistics().activeBuffers()).isEqualTo(1);
          mapping.close();
          eventually("it is freed", () -> memory().statistics().activeBuffers() == 0);
        });
  }

  @TestFactory
  Stream<DynamicTest> readingMappingsLieSideBySide() {
    return inEveryLocation(
        location -> {
          UnifiedBuffer<float[]> buffer = patterned(LENGTH, location, 1);
          try (HostMapping one = buffer.map(MapMode.READ);
              HostMapping two = buffer.map(MapMode.READ)) {
            Patterns.assertEqual(
                contents(ElementType.FLOAT, one.segment()),
                contents(ElementType.FLOAT, two.segment()),
                "the same bytes");
          }
        });
  }

  @TestFactory
  Stream<DynamicTest> aWritingMappingOfAllFetchesNothing() {
    return inEveryLocation(
        location -> {
          UnifiedBuffer<float[]> buffer = patterned(LENGTH, location, 1);
          TransferStatistics before = bench().moved();
          try (HostMapping mapping = buffer.map(MapMode.WRITE)) {
            mapping.segment().fill((byte) 0);
          }
          assertThat(bench().moved().deviceToHostBytes()).isEqualTo(before.deviceToHostBytes());
          Patterns.assertEqual(contents(buffer), new float[LENGTH], "all written");
        });
  }

  @TestFactory
  Stream<DynamicTest> nothingCanBeMappedToo() {
    return inEveryLocation(
        location -> {
          UnifiedBuffer<float[]> nothing = buffer(ElementType.FLOAT, 0, location);
          try (HostMapping mapping = nothing.map(MapMode.READ_WRITE)) {
            assertThat(mapping.segment().byteSize()).isZero();
          }
          assertThat(nothing.asSegment().byteSize()).isZero();
        });
  }

  private static @Nullable Throwable thrownElsewhere(Runnable action) {
    AtomicReference<@Nullable Throwable> thrown = new AtomicReference<>();
    Thread thread =
        Thread.ofPlatform()
            .start(
                () -> {
                  try {
                    action.run();
                  } catch (Throwable e) {
                    thrown.set(e);
                  }
                });
    try {
      thread.join();
    } catch (InterruptedException e) {
      throw new AssertionError("interrupted", e);
    }
    return thrown.get();
  }
}

package dev.tidepool.testkit.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.Arguments;
import dev.tidepool.ElementType;
import dev.tidepool.Kernel;
import dev.tidepool.UnifiedBuffer;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/** Segments, on the heap and native, aligned or not, are copied like arrays. */
public abstract class SegmentCopyConformance extends Topic {
  private static final int LENGTH = 50_021;

  @TestFactory
  Stream<DynamicTest> nativeSegmentsTravelThereAndBack() {
    return inEveryLocation(
        location -> {
          try (Arena arena = Arena.ofConfined()) {
            roundTrip(
                buffer(ElementType.FLOAT, LENGTH, location),
                arena.allocate(4L * LENGTH, 8),
                arena.allocate(4L * LENGTH, 8));
          }
        });
  }

  @TestFactory
  Stream<DynamicTest> unalignedSegmentsTravelThereAndBack() {
    return inEveryLocation(
        location -> {
          try (Arena arena = Arena.ofConfined()) {
            roundTrip(
                buffer(ElementType.FLOAT, LENGTH, location),
                arena.allocate(4L * LENGTH + 3, 8).asSlice(3),
                arena.allocate(4L * LENGTH + 1, 8).asSlice(1));
          }
        });
  }

  @TestFactory
  Stream<DynamicTest> heapSegmentsOfAnyArrayTravelThereAndBack() {
    return inEveryLocation(
        location -> {
          UnifiedBuffer<float[]> buffer = buffer(ElementType.FLOAT, LENGTH, location);
          roundTrip(
              buffer,
              MemorySegment.ofArray(new float[LENGTH]),
              MemorySegment.ofArray(new byte[4 * LENGTH]));
          roundTrip(
              buffer,
              MemorySegment.ofArray(new byte[4 * LENGTH + 5]).asSlice(5),
              MemorySegment.ofArray(new int[LENGTH]));
        });
  }

  private void roundTrip(
      UnifiedBuffer<float[]> buffer, MemorySegment source, MemorySegment target) {
    float[] pattern = pattern(LENGTH, source.byteSize());
    ElementType.FLOAT.write(pattern, 0, source, 0, LENGTH);
    buffer.copyFrom(source, 0);
    Patterns.assertEqual(contents(buffer), pattern, "from a segment");
    buffer.copyTo(0, target);
    Patterns.assertEqual(contents(ElementType.FLOAT, target), pattern, "to a segment");

    float[] part = pattern(100, 77);
    buffer.copyFrom(MemorySegment.ofArray(part), 333);
    float[] model = Patterns.overlaid(ElementType.FLOAT, pattern, 333, part);
    MemorySegment some = target.asSlice(0, 4 * 1001L);
    buffer.copyTo(11, some);
    Patterns.assertEqual(
        contents(ElementType.FLOAT, some),
        Patterns.range(ElementType.FLOAT, model, 11, 1012),
        "at an offset");
    Patterns.assertEqual(contents(buffer), model, "the whole buffer");
  }

  @TestFactory
  Stream<DynamicTest> aConfinedSegmentIsCopiedBehindPendingWork() {
    return inEveryLocation(
        location -> {
          UnifiedBuffer<float[]> buffer = patterned(LENGTH, location, 1);
          Kernel twice = bench().kernel("y = y * 2");
          try (Arena arena = Arena.ofConfined()) {
            MemorySegment source = arena.allocate(4L * LENGTH, 4);
            MemorySegment target = arena.allocate(4L * LENGTH, 4);
            ElementType.FLOAT.write(pattern(LENGTH, 2), 0, source, 0, LENGTH);
            for (int i = 0; i < 20; i++) {
              twice.executeAsync(Arguments.of("y", buffer));
            }
            buffer.copyFrom(source, 0);
            twice.executeAsync(Arguments.of("y", buffer));
            buffer.copyTo(0, target);
            float[] model = pattern(LENGTH, 2);
            for (int i = 0; i < LENGTH; i++) {
              model[i] *= 2;
            }
            Patterns.assertEqual(
                contents(ElementType.FLOAT, target), model, "behind pending kernels");
          }
        });
  }

  @TestFactory
  Stream<DynamicTest> segmentsTravelInTheBackgroundToo() {
    return inEveryLocation(
        location -> {
          UnifiedBuffer<float[]> buffer = patterned(LENGTH, location, 1);
          try (Arena arena = Arena.ofShared()) {
            MemorySegment source = arena.allocate(4 * 30_001L, 4);
            MemorySegment target = arena.allocate(4L * LENGTH, 4);
            ElementType.FLOAT.write(pattern(30_001, 2), 0, source, 0, 30_001);
            buffer.copyFromAsync(source, 17);
            buffer.copyFromAsync(MemorySegment.ofArray(pattern(100, 3)), 40_000);
            buffer.copyToAsync(0, target).join();
            float[] model =
                Patterns.overlaid(ElementType.FLOAT, pattern(LENGTH, 1), 17, pattern(30_001, 2));
            Patterns.assertEqual(
                contents(ElementType.FLOAT, target),
                Patterns.overlaid(ElementType.FLOAT, model, 40_000, pattern(100, 3)),
                "in the background");
          }
        });
  }

  @TestFactory
  Stream<DynamicTest> aConfinedSegmentIsRefusedInTheBackground() {
    return inEveryLocation(
        location -> {
          UnifiedBuffer<float[]> buffer = patterned(10, location, 1);
          try (Arena arena = Arena.ofConfined()) {
            MemorySegment confined = arena.allocate(40, 4);
            assertThatThrownBy(() -> buffer.copyFromAsync(confined, 0))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("Arena.ofShared()");
            assertThatThrownBy(() -> buffer.copyToAsync(0, confined))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("Arena.ofShared()");
          }
          Patterns.assertEqual(contents(buffer), pattern(10, 1), "the untouched buffer");
        });
  }

  @TestFactory
  Stream<DynamicTest> aSegmentOfPartialElementsIsAWrongArgument() {
    return inEveryLocation(
        location -> {
          UnifiedBuffer<float[]> buffer = buffer(ElementType.FLOAT, 10, location);
          MemorySegment segment = MemorySegment.ofArray(new byte[7]);
          assertThatThrownBy(() -> buffer.copyFrom(segment, 0))
              .isInstanceOf(IllegalArgumentException.class);
          assertThatThrownBy(() -> buffer.copyTo(0, segment))
              .isInstanceOf(IllegalArgumentException.class);
        });
  }

  @TestFactory
  Stream<DynamicTest> aViewIsTheBytesThemselves() {
    return inEveryLocation(
        location -> {
          UnifiedBuffer<float[]> buffer = patterned(LENGTH, location, 1);
          Patterns.assertEqual(
              contents(ElementType.FLOAT, buffer.asReadOnlySegment()),
              pattern(LENGTH, 1),
              "the read-only view");
          float[] second = pattern(LENGTH, 2);
          ElementType.FLOAT.write(second, 0, buffer.asSegment(), 0, LENGTH);
          Patterns.assertEqual(contents(buffer), second, "written through the view");
          assertThatThrownBy(() -> buffer.asReadOnlySegment().fill((byte) 1))
              .isInstanceOfAny(IllegalArgumentException.class, UnsupportedOperationException.class);
          try (UnifiedBuffer<float[]> slice = buffer.slice(101, 7)) {
            Patterns.assertEqual(
                contents(ElementType.FLOAT, slice.asReadOnlySegment()),
                Patterns.range(ElementType.FLOAT, second, 101, 108),
                "the view of a slice");
          }
        });
  }

  @TestFactory
  Stream<DynamicTest> wholeSegmentsTravelAtOnceAndInTheBackground() {
    return inEveryLocation(
        location -> {
          UnifiedBuffer<float[]> buffer = buffer(ElementType.FLOAT, LENGTH, location);
          float[] numbers = new float[LENGTH];
          for (int i = 0; i < LENGTH; i++) {
            numbers[i] = i;
          }
          float[] read = new float[LENGTH + 1];
          buffer.copyFrom(MemorySegment.ofArray(numbers));
          buffer.copyTo(MemorySegment.ofArray(read));
          assertThat(read).startsWith(numbers).endsWith(0f);
          numbers[LENGTH - 1] = -1;
          buffer.copyFromAsync(MemorySegment.ofArray(numbers)).join();
          buffer.copyToAsync(MemorySegment.ofArray(read)).join();
          assertThat(read).startsWith(numbers).endsWith(0f);
          MemorySegment shorter = MemorySegment.ofArray(new float[LENGTH - 1]);
          assertThatThrownBy(() -> buffer.copyTo(shorter))
              .isInstanceOf(IndexOutOfBoundsException.class)
              .hasMessageContaining(Integer.toString(4 * LENGTH));
          MemorySegment longer = MemorySegment.ofArray(read);
          assertThatThrownBy(() -> buffer.copyFrom(longer))
              .isInstanceOf(IndexOutOfBoundsException.class);
        });
  }

  @TestFactory
  Stream<DynamicTest> fillsAndSynchronizationInTheBackgroundKeepTheOrder() {
    return inEveryLocation(
        location -> {
          UnifiedBuffer<int[]> buffer = buffer(ElementType.INT, LENGTH, location);
          var first = buffer.fillAsync((byte) -1);
          var second = buffer.fillAsync(new int[] {1, 2});
          buffer.synchronizeAsync().join();
          assertThat(first).isCompleted();
          assertThat(second).isCompleted();
          int[] read = new int[LENGTH];
          buffer.copyTo(read);
          for (int i = 0; i < LENGTH; i++) {
            assertThat(read[i]).isEqualTo(1 + i % 2);
          }
        });
  }
}

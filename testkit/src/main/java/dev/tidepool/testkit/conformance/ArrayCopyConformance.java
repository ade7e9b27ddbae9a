package dev.tidepool.testkit.conformance;

import dev.tidepool.ElementType;
import dev.tidepool.MemoryLocation;
import dev.tidepool.UnifiedBuffer;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/** Arrays of every element type are copied to every location and back, completely and in part. */
public abstract class ArrayCopyConformance extends Topic {
  private static final int[] LENGTHS = {0, 1, 13, 1000, 70_001};

  @TestFactory
  Stream<DynamicTest> wholeArraysTravelThereAndBack() {
    return overTypesAndLocations(
        new TypedTest() {
          @Override
          public <A> void run(ElementType<A> type, MemoryLocation location) {
            for (int length : LENGTHS) {
              try (UnifiedBuffer<A> buffer = memory().allocate(type, length, location)) {
                A first = Patterns.array(type, length, length);
                buffer.copyFrom(first);
                Patterns.assertEqual(contents(buffer), first, "copied");
                A second = Patterns.array(type, length, length + 1L);
                buffer.copyFromAsync(second).join();
                A back = type.newArray(length);
                buffer.copyToAsync(back).join();
                Patterns.assertEqual(back, second, "copied in the background");
              }
            }
          }
        });
  }

  @TestFactory
  Stream<DynamicTest> partsOfArraysLeaveTheRestAsItWas() {
    return overTypesAndLocations(
        new TypedTest() {
          @Override
          public <A> void run(ElementType<A> type, MemoryLocation location) {
            int length = 5003;
            try (UnifiedBuffer<A> buffer = memory().allocate(type, length, location)) {
              A model = Patterns.array(type, length, 1);
              buffer.copyFrom(model);
              for (int[] part : new int[][] {{0, 1}, {1, 1}, {17, 1000}, {4999, 4}, {333, 0}}) {
                A source = Patterns.array(type, part[1] + 9, part[0]);
                buffer.copyFrom(source, 5, part[0], part[1]);
                model =
                    Patterns.overlaid(
                        type, model, part[0], Patterns.range(type, source, 5, 5 + part[1]));
                A target = Patterns.array(type, part[1] + 11, 99);
                A expected =
                    Patterns.overlaid(
                        type, target, 7, Patterns.range(type, model, part[0], part[0] + part[1]));
                buffer.copyTo(part[0], target, 7, part[1]);
                Patterns.assertEqual(target, expected, "a part, and what is around it");
              }
              Patterns.assertEqual(contents(buffer), model, "all after copies of parts");
            }
          }
        });
  }

  @TestFactory
  Stream<DynamicTest> partsTravelInTheBackgroundToo() {
    return inEveryLocation(
        location -> {
          UnifiedBuffer<float[]> buffer = patterned(9001, location, 1);
          float[] source = pattern(3000, 2);
          buffer.copyFromAsync(source, 100, 4001, 2500).join();
          float[] model =
              Patterns.overlaid(
                  ElementType.FLOAT,
                  pattern(9001, 1),
                  4001,
                  Patterns.range(ElementType.FLOAT, source, 100, 2600));
          float[] back = new float[5000];
          buffer.copyToAsync(3999, back, 2, 4998).join();
          Patterns.assertEqual(
              back,
              Patterns.overlaid(
                  ElementType.FLOAT,
                  new float[5000],
                  2,
                  Patterns.range(ElementType.FLOAT, model, 3999, 8997)),
              "a part in the background");
        });
  }

  @TestFactory
  Stream<DynamicTest> aShorterSourceFillsTheFrontAndALongerTargetIsFilledAtItsFront() {
    return inEveryLocation(
        location -> {
          UnifiedBuffer<float[]> buffer = patterned(1000, location, 1);
          buffer.copyFrom(pattern(10, 2));
          float[] model = Patterns.overlaid(ElementType.FLOAT, pattern(1000, 1), 0, pattern(10, 2));
          float[] target = new float[1500];
          buffer.copyTo(target);
          Patterns.assertEqual(
              target,
              Patterns.overlaid(ElementType.FLOAT, new float[1500], 0, model),
              "a longer target");
        });
  }

  @TestFactory
  Stream<DynamicTest> slicesAndViewsCopyTheirPartOfTheBytes() {
    return inEveryLocation(
        location -> {
          UnifiedBuffer<int[]> root = bench().patterned(ElementType.INT, 5000, location, 1);
          int[] model = Patterns.array(ElementType.INT, 5000, 1);
          try (UnifiedBuffer<int[]> slice = root.slice(1001, 999);
              UnifiedBuffer<int[]> inner = slice.slice(3, 10);
              UnifiedBuffer<byte[]> bytes = inner.as(ElementType.BYTE)) {
            Patterns.assertEqual(
                contents(slice), Patterns.range(ElementType.INT, model, 1001, 2000), "a slice");
            inner.copyFrom(new int[] {1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
            for (int i = 0; i < 10; i++) {
              model[1004 + i] = i + 1;
            }
            byte[] ends = new byte[40];
            bytes.copyTo(ends);
            int[] again = new int[10];
            ElementType.INT.read(java.lang.foreign.MemorySegment.ofArray(ends), 0, again, 0, 10);
            Patterns.assertEqual(
                again, Patterns.range(ElementType.INT, model, 1004, 1014), "a view of a slice");
          }
          Patterns.assertEqual(contents(root), model, "the root");
        });
  }

  /** A test of one element type and location. */
  private interface TypedTest {
    <A> void run(ElementType<A> type, MemoryLocation location);
  }

  private Stream<DynamicTest> overTypesAndLocations(TypedTest test) {
    return Patterns.TYPES.stream()
        .flatMap(
            type ->
                bench().locations().stream()
                    .map(
                        location ->
                            DynamicTest.dynamicTest(
                                type + " in " + location, () -> test.run(type, location))));
  }
}

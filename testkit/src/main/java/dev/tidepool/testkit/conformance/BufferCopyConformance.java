package dev.tidepool.testkit.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.ElementType;
import dev.tidepool.HostMapping;
import dev.tidepool.MapMode;
import dev.tidepool.MemoryLocation;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.transfer.TransferStatistics;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** Buffers are copied to buffers in any locations. */
public abstract class BufferCopyConformance extends Topic {
  private static final int LENGTH = 30_011;

  @TestFactory
  Stream<DynamicTest> aBufferIsCopiedToOneOfAnyLocation() {
    return bench().locations().stream()
        .flatMap(
            from ->
                bench().locations().stream()
                    .map(
                        to ->
                            DynamicTest.dynamicTest(
                                from + " to " + to,
                                () ->
                                    copies(
                                        patterned(LENGTH, from, 1),
                                        buffer(ElementType.FLOAT, LENGTH, to)))));
  }

  @TestFactory
  List<DynamicTest> aBufferIsCopiedToOneOfAnotherManagerAndAccelerator() {
    List<DynamicTest> tests = new ArrayList<>();
    for (UnifiedMemoryManager other : bench().otherManagers()) {
      for (MemoryLocation here : bench().locations()) {
        for (MemoryLocation there : List.of(MemoryLocation.DEVICE, MemoryLocation.HOST)) {
          String names = here + " to " + there + " of " + other.accelerator().id();
          tests.add(
              DynamicTest.dynamicTest(
                  names,
                  () -> {
                    try (UnifiedBuffer<float[]> far =
                        other.allocate(ElementType.FLOAT, LENGTH, there)) {
                      copies(patterned(LENGTH, here, 1), far);
                    }
                  }));
          tests.add(
              DynamicTest.dynamicTest(
                  names + ", back",
                  () -> {
                    try (UnifiedBuffer<float[]> far =
                        other.allocate(ElementType.FLOAT, LENGTH, there)) {
                      far.copyFrom(pattern(LENGTH, 1));
                      copies(far, buffer(ElementType.FLOAT, LENGTH, here));
                    }
                  }));
        }
      }
    }
    return tests;
  }

  /** Copies everything, asynchronously, and slices at odd offsets; the source holds pattern 1. */
  private void copies(UnifiedBuffer<float[]> source, UnifiedBuffer<float[]> target) {
    target.copyFrom(source);
    Patterns.assertEqual(contents(target), pattern(LENGTH, 1), "copied");
    target.fill((byte) 0);
    target.copyFromAsync(source).join();
    Patterns.assertEqual(contents(target), pattern(LENGTH, 1), "copied in the background");
    try (UnifiedBuffer<float[]> from = source.slice(1001, 2003);
        UnifiedBuffer<float[]> to = target.slice(7, 9000)) {
      to.copyFrom(from);
    }
    float[] model =
        Patterns.overlaid(
            ElementType.FLOAT,
            pattern(LENGTH, 1),
            7,
            Patterns.range(ElementType.FLOAT, pattern(LENGTH, 1), 1001, 3004));
    Patterns.assertEqual(contents(target), model, "a slice to the front of a slice");
    Patterns.assertEqual(contents(source), pattern(LENGTH, 1), "the source");
  }

  @TestFactory
  Stream<DynamicTest> overlappingSlicesAreCopiedAsIfThroughATemporary() {
    return inEveryLocation(
        location -> {
          for (int[] move : new int[][] {{0, 1}, {1, 0}, {500, 0}, {0, 500}, {3, 3}, {9, 20_000}}) {
            UnifiedBuffer<float[]> buffer = patterned(LENGTH, location, 2);
            int count = 10_007;
            try (UnifiedBuffer<float[]> from = buffer.slice(move[0], count);
                UnifiedBuffer<float[]> to = buffer.slice(move[1], count)) {
              to.copyFrom(from);
            }
            float[] model = pattern(LENGTH, 2);
            System.arraycopy(model, move[0], model, move[1], count);
            Patterns.assertEqual(
                contents(buffer), model, "moved from " + move[0] + " to " + move[1]);
          }
        });
  }

  @TestFactory
  Stream<DynamicTest> overlappingSlicesAreCopiedLikewiseWhileAnotherPartIsMapped() {
    return inEveryLocation(
        location -> {
          UnifiedBuffer<float[]> buffer = patterned(LENGTH, location, 2);
          // Else a host block that the pattern was copied through may become the host's copy.
          patterned(LENGTH, location, 3);
          int count = 10_007;
          float[] model = pattern(LENGTH, 2);
          System.arraycopy(model, 1000, model, 1500, count);
          try (UnifiedBuffer<float[]> front = buffer.slice(0, 10);
              UnifiedBuffer<float[]> from = buffer.slice(1000, count);
              UnifiedBuffer<float[]> to = buffer.slice(1500, count);
              HostMapping mapping = front.map(MapMode.READ)) {
            to.copyFrom(from);
            Patterns.assertEqual(
                contents(ElementType.FLOAT, mapping.segment()), pattern(10, 2), "what is mapped");
          }
          Patterns.assertEqual(contents(buffer), model, "moved beside a mapping");
        });
  }

  @TestFactory
  Stream<DynamicTest> aForeignBufferIsASourceAndATargetOfCopies() {
    return inEveryLocation(
        location -> {
          ForeignBuffer<float[]> foreign =
              new ForeignBuffer<>(ElementType.FLOAT, LENGTH, bench().accelerator());
          foreign.copyFrom(pattern(LENGTH, 4));
          UnifiedBuffer<float[]> buffer = buffer(ElementType.FLOAT, LENGTH, location);
          buffer.copyFrom(foreign);
          Patterns.assertEqual(contents(buffer), pattern(LENGTH, 4), "from a foreign buffer");
          foreign.fill((byte) 0);
          foreign.copyFrom(buffer);
          Patterns.assertEqual(contents(foreign), pattern(LENGTH, 4), "to a foreign buffer");
        });
  }

  @TestFactory
  Stream<DynamicTest> theTransferEngineCopiesTheSameWay() {
    return inEveryLocation(
        location -> {
          UnifiedBuffer<float[]> source = patterned(LENGTH, location, 5);
          UnifiedBuffer<float[]> target = buffer(ElementType.FLOAT, LENGTH, MemoryLocation.DEVICE);
          memory().transfers().copy(source, target);
          Patterns.assertEqual(contents(target), pattern(LENGTH, 5), "by the engine");
          target.fill((byte) 0);
          memory().transfers().copyAsync(source, target).join();
          Patterns.assertEqual(contents(target), pattern(LENGTH, 5), "in the background");
        });
  }

  @TestFactory
  Stream<DynamicTest> aShorterSourceFillsTheFrontAndALongerOneIsOutOfBounds() {
    return inEveryLocation(
        location -> {
          UnifiedBuffer<float[]> small = patterned(10, location, 6);
          UnifiedBuffer<float[]> large = patterned(20, location, 7);
          large.copyFrom(small);
          Patterns.assertEqual(
              contents(large),
              Patterns.overlaid(ElementType.FLOAT, pattern(20, 7), 0, pattern(10, 6)),
              "the front");
          assertThatThrownBy(() -> small.copyFrom(large))
              .isInstanceOf(IndexOutOfBoundsException.class);
          Patterns.assertEqual(contents(small), pattern(10, 6), "refused");
        });
  }

  @Test
  void aCopyBetweenDeviceBuffersDoesNotPassTheHost() {
    UnifiedBuffer<float[]> source = patterned(LENGTH, MemoryLocation.DEVICE, 8);
    UnifiedBuffer<float[]> target = buffer(ElementType.FLOAT, LENGTH, MemoryLocation.DEVICE);
    TransferStatistics before = bench().moved();
    target.copyFrom(source);
    TransferStatistics after = bench().moved();
    assertThat(after.hostToDeviceBytes()).isEqualTo(before.hostToDeviceBytes());
    assertThat(after.deviceToHostBytes()).isEqualTo(before.deviceToHostBytes());
    Patterns.assertEqual(contents(target), pattern(LENGTH, 8), "on the device");
  }

  @TestFactory
  Stream<DynamicTest> aFillSetsEveryByteOfItsBufferAndNoOther() {
    return inEveryLocation(
        location -> {
          UnifiedBuffer<byte[]> buffer = bench().patterned(ElementType.BYTE, 70_001, location, 9);
          byte[] model = Patterns.array(ElementType.BYTE, 70_001, 9);
          try (UnifiedBuffer<byte[]> slice = buffer.slice(333, 5001);
              UnifiedBuffer<byte[]> nothing = buffer.slice(40_000, 0)) {
            slice.fill((byte) -7);
            nothing.fill((byte) 1);
          }
          java.util.Arrays.fill(model, 333, 5334, (byte) -7);
          Patterns.assertEqual(contents(buffer), model, "a filled slice");
          buffer.fill((byte) 0x5A);
          java.util.Arrays.fill(model, (byte) 0x5A);
          Patterns.assertEqual(contents(buffer), model, "filled");
        });
  }

  @TestFactory
  Stream<DynamicTest> aPatternFillsItsBufferOverAndOverAndNoOther() {
    return inEveryLocation(
        location -> {
          UnifiedBuffer<short[]> buffer = bench().patterned(ElementType.SHORT, 30_001, location, 9);
          short[] model = Patterns.array(ElementType.SHORT, 30_001, 9);
          for (short[] pattern : new short[][] {{-7}, {1, 2}, {3, 4, 5}}) {
            try (UnifiedBuffer<short[]> slice = buffer.slice(333, 5001);
                UnifiedBuffer<short[]> shorter = buffer.slice(20_000, pattern.length - 1)) {
              slice.fill(pattern);
              shorter.fill(pattern);
            }
            for (int i = 0; i < 5001; i++) {
              model[333 + i] = pattern[i % pattern.length];
            }
            System.arraycopy(pattern, 0, model, 20_000, pattern.length - 1);
            Patterns.assertEqual(contents(buffer), model, "slices filled with a pattern");
          }
        });
  }
}

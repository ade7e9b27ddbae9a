package dev.tidepool.testkit.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.Arguments;
import dev.tidepool.ElementType;
import dev.tidepool.Kernel;
import dev.tidepool.KernelSource;
import dev.tidepool.MemoryLocation;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.interop.DLPack;
import dev.tidepool.interop.DLPackTensor;
import dev.tidepool.stream.Pipeline;
import dev.tidepool.stream.Reductions;
import dev.tidepool.stream.StreamOptions;
import dev.tidepool.transfer.PeerAccess;
import dev.tidepool.transfer.Transfer;
import dev.tidepool.transfer.TransferOptions;
import dev.tidepool.transfer.TransferOutcome;
import dev.tidepool.transfer.TransferReport;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** A buffer that a program implements by six methods is accepted wherever buffers are. */
public abstract class CustomBufferConformance extends Topic {
  private static final int LENGTH = 30_001;

  /** Returns one test over heap memory and one over native memory. */
  private Stream<DynamicTest> overBoth(LocationlessTest test) {
    return Stream.of(true, false)
        .map(heap -> DynamicTest.dynamicTest(heap ? "heap" : "native", () -> test.run(heap)));
  }

  private interface LocationlessTest {
    void run(boolean heap);
  }

  private ForeignBuffer<float[]> custom(boolean heap, int length) {
    return heap
        ? new ForeignBuffer<>(ElementType.FLOAT, length, bench().accelerator())
        : ForeignBuffer.inNativeMemory(ElementType.FLOAT, length, bench().accelerator());
  }

  private ForeignBuffer<float[]> custom(boolean heap, float[] contents) {
    ForeignBuffer<float[]> buffer = custom(heap, contents.length);
    buffer.copyFrom(contents);
    return buffer;
  }

  private static float[] doubled(float[] values) {
    float[] doubled = new float[values.length];
    for (int i = 0; i < values.length; i++) {
      doubled[i] = values[i] * 2;
    }
    return doubled;
  }

  @TestFactory
  Stream<DynamicTest> kernelsReadAndWriteIt() {
    return overBoth(
        heap -> {
          Kernel kernel = bench().kernel("y = 2 * x");
          ForeignBuffer<float[]> x = custom(heap, pattern(LENGTH, 1));
          ForeignBuffer<float[]> y = custom(heap, LENGTH);
          kernel.execute(Arguments.of("x", x, "y", y));
          Patterns.assertEqual(contents(y), doubled(pattern(LENGTH, 1)), "executed");
          x.copyFrom(pattern(LENGTH, 2));
          kernel.executeAsync(Arguments.of("x", x, "y", y)).join();
          Patterns.assertEqual(contents(y), doubled(pattern(LENGTH, 2)), "in the background");
          UnifiedBuffer<float[]> own = buffer(ElementType.FLOAT, LENGTH, MemoryLocation.DEVICE);
          kernel.execute(Arguments.of("x", y.slice(0, LENGTH), "y", own));
          kernel.execute(Arguments.of("x", own, "y", y));
          Patterns.assertEqual(
              contents(y), doubled(doubled(doubled(pattern(LENGTH, 2)))), "beside others");
        });
  }

  @Test
  void kernelsDoNotWriteItUnderTwoNames() {
    Kernel kernel = bench().kernel("y = 2 * x; z = 3 * x");
    ForeignBuffer<float[]> one = custom(false, 8);
    assertThatThrownBy(() -> kernel.execute(Arguments.of("x", pattern(8, 1), "y", one, "z", one)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("both written");
    float[] array = new float[8];
    UnifiedBuffer<float[]> overIt =
        new ForeignBuffer<>(ElementType.FLOAT, MemorySegment.ofArray(array), one.accelerator());
    for (Arguments written :
        List.of(
            Arguments.of("x", pattern(5, 1), "y", one.slice(0, 5), "z", one.slice(3, 5)),
            Arguments.of("x", pattern(8, 1), "y", overIt, "z", array))) {
      assertThatThrownBy(() -> kernel.execute(written))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("'y' and 'z' overlap");
    }
    kernel.execute(Arguments.of("x", pattern(4, 1), "y", one.slice(0, 4), "z", one.slice(4, 4)));
  }

  @Test
  void theOrchestratorRunsKernelsOverIt() {
    bench().assumeCompiler();
    Tidepool tidepool = bench().openTidepool();
    tidepool.orchestrator().register("doubled", KernelSource.elementwise("y = 2 * x"));
    ForeignBuffer<float[]> y = custom(false, LENGTH);
    tidepool
        .orchestrator()
        .execute("doubled", Arguments.of("x", custom(true, pattern(LENGTH, 3)), "y", y));
    Patterns.assertEqual(contents(y), doubled(pattern(LENGTH, 3)), "by name");
  }

  @TestFactory
  Stream<DynamicTest> listsOfTransfersMoveIt() {
    return overBoth(
        heap -> {
          transfers(heap, TransferOptions.defaults());
          transfers(heap, TransferOptions.builder().verified(true).build());
        });
  }

  private void transfers(boolean heap, TransferOptions options) {
    UnifiedBuffer<float[]> own = patterned(LENGTH, MemoryLocation.DEVICE, 1);
    UnifiedBuffer<float[]> filled = buffer(ElementType.FLOAT, LENGTH, MemoryLocation.DEVICE);
    ForeignBuffer<float[]> fromArray = custom(heap, LENGTH + 1);
    ForeignBuffer<float[]> fromSegment = custom(heap, LENGTH);
    ForeignBuffer<float[]> fromOwn = custom(heap, LENGTH);
    ForeignBuffer<float[]> fromCustom = custom(heap, LENGTH);
    ForeignBuffer<float[]> source = custom(heap, pattern(LENGTH, 2));
    float[] array = new float[LENGTH];
    MemorySegment segment = Arena.ofAuto().allocate(4L * LENGTH, 4);
    TransferReport report =
        memory()
            .transfers()
            .transfer(
                List.of(
                    Transfer.of(pattern(LENGTH, 3), fromArray),
                    Transfer.of(MemorySegment.ofArray(pattern(LENGTH, 4)), fromSegment),
                    Transfer.of(own, fromOwn),
                    Transfer.of(source, fromCustom),
                    Transfer.of(source, filled),
                    Transfer.of(source, array),
                    Transfer.of(source, segment)),
                options);
    assertThat(report.outcomes()).allMatch(o -> o.status() == TransferOutcome.Status.DONE);
    Patterns.assertEqual(contents(fromArray.slice(0, LENGTH)), pattern(LENGTH, 3), "an array");
    Patterns.assertEqual(contents(fromSegment), pattern(LENGTH, 4), "a segment");
    Patterns.assertEqual(contents(fromOwn), pattern(LENGTH, 1), "a buffer of the library");
    Patterns.assertEqual(contents(fromCustom), pattern(LENGTH, 2), "a buffer of its kind");
    Patterns.assertEqual(contents(filled), pattern(LENGTH, 2), "to a buffer of the library");
    Patterns.assertEqual(array, pattern(LENGTH, 2), "to an array");
    Patterns.assertEqual(contents(ElementType.FLOAT, segment), pattern(LENGTH, 2), "to a segment");
  }

  @Test
  void aPairThatDoesNotFitFailsAlone() {
    ForeignBuffer<float[]> small = custom(true, 4);
    ForeignBuffer<float[]> filled = custom(true, 8);
    TransferReport report =
        memory()
            .transfers()
            .transfer(
                List.of(
                    Transfer.of(pattern(8, 1), small),
                    Transfer.of(filled, small),
                    Transfer.of(pattern(8, 1), filled)),
                TransferOptions.defaults());
    assertThat(report.outcomes())
        .extracting(TransferOutcome::status)
        .containsExactly(
            TransferOutcome.Status.FAILED,
            TransferOutcome.Status.FAILED,
            TransferOutcome.Status.DONE);
    Patterns.assertEqual(contents(filled), pattern(8, 1), "the pair that fits");
  }

  @TestFactory
  Stream<DynamicTest> itIsScatteredGatheredAndBroadcast() {
    return overBoth(
        heap -> {
          PeerAccess peers = bench().tidepool().peers();
          ForeignBuffer<float[]> whole = custom(heap, pattern(LENGTH, 1));
          UnifiedBuffer<float[]> front = buffer(ElementType.FLOAT, 10_000, MemoryLocation.DEVICE);
          ForeignBuffer<float[]> back = custom(heap, LENGTH - 10_000);
          peers.scatter(whole, List.of(front, back));
          whole.fill((byte) 0);
          peers.gather(List.of(front, back), whole);
          Patterns.assertEqual(contents(whole), pattern(LENGTH, 1), "scattered and gathered");
          UnifiedBuffer<float[]> own = buffer(ElementType.FLOAT, LENGTH, MemoryLocation.DEVICE);
          ForeignBuffer<float[]> other = custom(heap, LENGTH);
          peers.broadcast(whole, List.of(own, other));
          Patterns.assertEqual(contents(own), pattern(LENGTH, 1), "broadcast");
          Patterns.assertEqual(contents(other), pattern(LENGTH, 1), "broadcast");
          whole.fill((byte) 0);
          peers.broadcast(own, List.of(whole));
          Patterns.assertEqual(contents(whole), pattern(LENGTH, 1), "broadcast back");
        });
  }

  @TestFactory
  Stream<DynamicTest> piecesThatShareBytesAreRefused() {
    return overBoth(
        heap -> {
          PeerAccess peers = bench().tidepool().peers();
          ForeignBuffer<float[]> whole = custom(heap, pattern(8, 1));
          UnifiedBuffer<float[]> own = buffer(ElementType.FLOAT, 8, MemoryLocation.DEVICE);
          assertThatThrownBy(
                  () -> peers.broadcast(own, List.of(whole.slice(0, 8), whole.slice(0, 8))))
              .isInstanceOf(IllegalArgumentException.class)
              .hasMessageContaining("the same bytes");
          assertThatThrownBy(
                  () ->
                      peers.scatter(whole.slice(0, 6), List.of(whole.slice(4, 4), own.slice(0, 2))))
              .isInstanceOf(IllegalArgumentException.class)
              .hasMessageContaining("buffers of their own");
          assertThatThrownBy(() -> peers.scatter(whole, List.of(own.slice(0, 4))))
              .isInstanceOf(IndexOutOfBoundsException.class);
          assertThatThrownBy(() -> peers.broadcast(own, List.of(whole, whole.slice(0, 7))))
              .isInstanceOf(IndexOutOfBoundsException.class)
              .hasMessageContaining("destination 2 has 7 elements");
        });
  }

  @TestFactory
  Stream<DynamicTest> pipelinesAndReductionsReadIt() {
    return overBoth(
        heap -> {
          bench().assumeCompiler();
          ForeignBuffer<float[]> x = custom(heap, pattern(LENGTH, 1));
          ForeignBuffer<float[]> y = custom(heap, LENGTH);
          var _ =
              Pipeline.from("x", x)
                  .through("y = 2 * x")
                  .to("y", y)
                  .on(memory())
                  .run(StreamOptions.defaults().withChunkBytes(4096));
          Patterns.assertEqual(contents(y), doubled(pattern(LENGTH, 1)), "streamed");
          UnifiedBuffer<float[]> own = buffer(ElementType.FLOAT, LENGTH, MemoryLocation.DEVICE);
          own.copyFrom(x);
          assertThat(Reductions.max(x)).isEqualTo(Reductions.max(own));
        });
  }

  @Test
  void otherLibrariesTakeItsNativeMemory() {
    ForeignBuffer<float[]> custom = custom(false, pattern(24, 1));
    long address = DLPack.export(custom, 4, 6).handOver();
    try (DLPackTensor tensor = DLPack.open(memory(), address)) {
      UnifiedBuffer<float[]> inside = tensor.buffer(ElementType.FLOAT);
      Patterns.assertEqual(contents(inside), pattern(24, 1), "exported");
      inside.copyFrom(pattern(24, 2));
    }
    Patterns.assertEqual(contents(custom), pattern(24, 2), "written by the consumer");
    ForeignBuffer<float[]> heap = custom(true, 24);
    assertThatThrownBy(() -> DLPack.export(heap))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("on the heap");
  }
}

package dev.tidepool.testkit.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.Arguments;
import dev.tidepool.ElementType;
import dev.tidepool.MemoryLocation;
import dev.tidepool.TransferException;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import java.nio.file.NoSuchFileException;
import java.util.UUID;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Buffers with a name: bytes that one user has on the host are visible to the others. */
public abstract class SharedMemoryConformance extends Topic {
  private static final int LENGTH = 50_021;

  private String name = "";

  @BeforeEach
  final void chooseName() {
    name = "conformance-" + UUID.randomUUID();
  }

  private UnifiedBuffer<float[]> create() {
    return bench().owned(memory().createShared(ElementType.FLOAT, LENGTH, name));
  }

  private UnifiedBuffer<float[]> open(UnifiedMemoryManager manager) {
    return bench().owned(manager.openShared(ElementType.FLOAT, name));
  }

  @Test
  final void aSharedBufferBeginsOnTheHostWithZeros() {
    UnifiedBuffer<float[]> buffer = create();
    assertThat(buffer.location()).isEqualTo(MemoryLocation.HOST);
    Patterns.assertEqual(contents(buffer), new float[LENGTH], "a new buffer");
    assertThat(memory().statistics().totalAllocated()).isEqualTo(4L * LENGTH);
  }

  @Test
  final void whatIsCopiedInIsSeenUnderTheSameNameByEveryManager() {
    UnifiedBuffer<float[]> buffer = create();
    for (UnifiedMemoryManager other : bench().otherManagers()) {
      float[] pattern = pattern(LENGTH, other.accelerator().id().hashCode());
      buffer.copyFrom(pattern);
      UnifiedBuffer<float[]> same = open(other);
      Patterns.assertEqual(contents(same), pattern, "under the same name");
      same.copyFrom(pattern(LENGTH, 5));
      Patterns.assertEqual(contents(buffer), pattern(LENGTH, 5), "written under the same name");
    }
  }

  @Test
  final void whatAKernelWroteIsSharedOnceTheHostHasIt() {
    UnifiedBuffer<float[]> buffer = create();
    UnifiedBuffer<float[]> same = open(memory());
    buffer.copyFrom(pattern(LENGTH, 1));
    bench().kernel("y = y * 2").execute(Arguments.of("y", buffer));
    buffer.prefetchToHost();
    memory().synchronize();
    Patterns.assertEqual(contents(same), doubled(pattern(LENGTH, 1)), "what the kernel wrote");
  }

  @Test
  final void aKernelReadsWhatOthersWroteAfterAHostViewForWriting() {
    UnifiedBuffer<float[]> buffer = create();
    UnifiedBuffer<float[]> same = open(memory());
    UnifiedBuffer<float[]> result = buffer(ElementType.FLOAT, LENGTH, MemoryLocation.DEVICE);
    bench().kernel("y = x").execute(Arguments.of("x", buffer, "y", result));
    same.copyFrom(pattern(LENGTH, 2));
    assertThat(buffer.asSegment().byteSize()).isEqualTo(4L * LENGTH);
    bench().kernel("y = x * 2").execute(Arguments.of("x", buffer, "y", result));
    Patterns.assertEqual(
        contents(result), doubled(pattern(LENGTH, 2)), "computed from what was written");
  }

  @Test
  final void theNameIsFreeOnceTheLastUserHasClosed() {
    UnifiedBuffer<float[]> buffer = create();
    UnifiedBuffer<float[]> same = open(memory());
    buffer.close();
    Patterns.assertEqual(contents(same), new float[LENGTH], "after one of two has closed");
    same.close();
    assertThatThrownBy(() -> memory().openShared(ElementType.FLOAT, name))
        .isInstanceOf(TransferException.class)
        .hasCauseInstanceOf(NoSuchFileException.class);
    assertThat(memory().statistics().activeBuffers()).isZero();
  }

  private static float[] doubled(float[] values) {
    for (int i = 0; i < values.length; i++) {
      values[i] *= 2;
    }
    return values;
  }
}

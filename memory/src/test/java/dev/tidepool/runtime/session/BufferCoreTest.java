package dev.tidepool.runtime.session;

import static dev.tidepool.BufferState.HOST_DIRTY;
import static dev.tidepool.BufferState.HOST_ONLY;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.tuple;

import dev.tidepool.Allocation;
import dev.tidepool.BufferState;
import dev.tidepool.ElementType;
import dev.tidepool.MemoryLocation;
import dev.tidepool.MemoryOptions;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.diagnostics.BufferInfo;
import dev.tidepool.runtime.buffer.BufferHandle;
import dev.tidepool.runtime.storage.BufferCore;
import dev.tidepool.runtime.storage.Storage;
import dev.tidepool.runtime.storage.StorageContext;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class BufferCoreTest {
  private final UnifiedMemoryManager memory = UnifiedMemoryManager.create(MemoryOptions.defaults());

  @AfterEach
  void close() {
    memory.close();
  }

  private StorageContext internals() {
    return ((DeviceMemoryManager) memory).context();
  }

  @Test
  void aBufferThatWasNeverUsedIsListedAsItWasAskedFor() {
    Allocation tagged = Allocation.at(MemoryLocation.HOST).tag("weights");
    try (UnifiedBuffer<float[]> first = memory.allocate(ElementType.FLOAT, 1000, tagged);
        UnifiedBuffer<byte[]> second = memory.allocate(ElementType.BYTE, 7)) {
      assertThat(memory.buffers())
          .extracting(BufferInfo::tag, BufferInfo::elementType, BufferInfo::length)
          .containsExactlyInAnyOrder(
              tuple("weights", first.elementType().toString(), 1000L),
              tuple("", second.elementType().toString(), 7L));
    }
    assertThat(memory.buffers()).isEmpty();
  }

  @Test
  void aBlockThatHasANewTenantTellsNothingOfTheOldOne() {
    UnifiedBuffer<float[]> old =
        memory.allocate(ElementType.FLOAT, 256, Allocation.at(MemoryLocation.DEVICE).tag("old"));
    old.close();
    try (UnifiedBuffer<int[]> fresh = memory.allocate(ElementType.INT, 200)) {
      assertThat(memory.buffers()).extracting(BufferInfo::tag).containsExactly("");
      assertThatThrownBy(old::length)
          .isInstanceOf(IllegalStateException.class)
          .hasMessageContaining("'old'")
          .hasMessageContaining("is closed");
      old.close();
      assertThat(fresh.length()).isEqualTo(200);
    }
  }

  @Test
  void aStorageThatAnotherThreadMadeIsTheHandlesBuffer() {
    try (UnifiedBuffer<int[]> buffer = memory.allocate(ElementType.INT, 4)) {
      List<Storage> storages =
          internals().registry().all().stream().map(BufferCore::storageUnlessClosed).toList();
      assertThat(storages).hasSize(1).doesNotContainNull();

      buffer.copyFrom(new int[] {1, 2, 3, 4});

      assertThat(internals().storages()).containsExactlyElementsOf(storages);
      assertThat(memory.buffers()).hasSize(1);
      int[] read = new int[4];
      buffer.copyTo(read);
      assertThat(read).containsExactly(1, 2, 3, 4);
    }
    assertThat(memory.buffers()).isEmpty();
    assertThat(memory.statistics().activeBuffers()).isZero();
  }

  @Test
  void aStorageThatAnotherThreadMadeIsClosedByTheHandle() {
    UnifiedBuffer<int[]> buffer = memory.allocate(ElementType.INT, 4);
    internals().registry().all().forEach(BufferCore::storageUnlessClosed);

    buffer.close();
    buffer.close();

    assertThat(memory.statistics().activeBuffers()).isZero();
    assertThat(memory.statistics().totalFreed()).isEqualTo(1);
    assertThatThrownBy(() -> buffer.copyFrom(new int[4])).hasMessageContaining("is closed");
  }

  @Test
  void buffersWhoseStorageTwoThreadsMakeAreOneAndKeepTheirBytes() throws Exception {
    AtomicBoolean done = new AtomicBoolean();
    try (ExecutorService threads = Executors.newCachedThreadPool()) {
      Future<?> waker =
          threads.submit(
              () -> {
                while (!done.get()) {
                  internals().registry().all().forEach(BufferCore::storageUnlessClosed);
                }
              });
      List<Callable<Void>> users = new ArrayList<>();
      for (int seed = 1; seed <= 3; seed++) {
        SplittableRandom random = new SplittableRandom(seed);
        users.add(
            () -> {
              for (int i = 0; i < 3000; i++) {
                use(random);
              }
              return null;
            });
      }
      for (Future<Void> user : threads.invokeAll(users)) {
        user.get();
      }
      done.set(true);
      waker.get();
    }
    assertThat(memory.buffers()).isEmpty();
    assertThat(memory.statistics().activeBuffers()).isZero();
    assertThat(memory.statistics().totalFreed()).isEqualTo(9000);
  }

  @ParameterizedTest
  @EnumSource(MemoryLocation.class)
  void aSegmentThatWasHandedOutIsKnownToWhatWakesTheBuffer(MemoryLocation location) {
    try (UnifiedBuffer<int[]> buffer = memory.allocate(ElementType.INT, 4, location)) {
      MemorySegment segment = buffer.asSegment();
      segment.setAtIndex(ValueLayout.JAVA_INT, 3, 17);
      BufferCore core = internals().registry().all().iterator().next();
      assertThat(internals().storages()).as("storages").isEmpty();
      assertThat(core.isSpillable()).isFalse();
      BufferState state = buffer.state();

      Storage storage = core.storageUnlessClosed();

      assertThat(storage).isNotNull().returns(true, each -> each.holds().keepHost());
      assertThat(buffer.state()).isEqualTo(state);
      boolean hostOnly = location == MemoryLocation.HOST || location == MemoryLocation.PINNED;
      assertThat(state).isEqualTo(hostOnly ? HOST_ONLY : HOST_DIRTY);
      assertThat(buffer.asSegment().address()).isEqualTo(segment.address());
      assertThat(buffer.metrics().hits()).isEqualTo(2);
      int[] read = new int[4];
      buffer.copyTo(read);
      assertThat(read[3]).isEqualTo(17);
    }
  }

  @ParameterizedTest
  @EnumSource(MemoryLocation.class)
  void theStateAfterAViewIsThatOfABufferThatWasUsedBefore(MemoryLocation location) {
    for (boolean reads : new boolean[] {false, true}) {
      try (UnifiedBuffer<int[]> fresh = memory.allocate(ElementType.INT, 4, location);
          UnifiedBuffer<int[]> used = memory.allocate(ElementType.INT, 4, location)) {
        internals().registry().all().stream()
            .filter(core -> core.equals(((BufferHandle<?>) used).core()))
            .forEach(BufferCore::storageUnlessClosed);
        for (UnifiedBuffer<int[]> buffer : List.of(fresh, used)) {
          assertThat((reads ? buffer.asReadOnlySegment() : buffer.asSegment()).isReadOnly())
              .isEqualTo(reads);
        }
        assertThat(fresh.state()).isEqualTo(used.state());
        assertThat(fresh.asSegment().isReadOnly()).isFalse();
        assertThat(used.asSegment().isReadOnly()).isFalse();
        assertThat(fresh.state()).isEqualTo(used.state());
        fresh.copyFrom(new int[4]);
        used.copyFrom(new int[4]);
        assertThat(fresh.state()).isEqualTo(used.state());
        assertThat(fresh.metrics().hits()).isEqualTo(used.metrics().hits());
      }
    }
  }

  @Test
  void aBufferThatHandedASegmentOutAndIsClosedHandsOutNoOther() {
    UnifiedBuffer<int[]> buffer = memory.allocate(ElementType.INT, 4, MemoryLocation.HOST);
    assertThat(buffer.asSegment().byteSize()).isEqualTo(16);

    buffer.close();

    try (UnifiedBuffer<int[]> next = memory.allocate(ElementType.INT, 4, MemoryLocation.HOST)) {
      assertThat(next.asSegment().byteSize()).isEqualTo(16);
      assertThatThrownBy(buffer::asSegment).hasMessageContaining("is closed");
      assertThatThrownBy(buffer::asReadOnlySegment).hasMessageContaining("is closed");
    }
  }

  private void use(SplittableRandom random) {
    int length = 1 + random.nextInt(2000);
    try (UnifiedBuffer<int[]> buffer = memory.allocate(ElementType.INT, length)) {
      if (random.nextBoolean()) {
        int value = random.nextInt();
        if (random.nextBoolean()) {
          buffer.copyFrom(new int[] {value}, 0, length - 1, 1);
        } else {
          buffer.asSegment().setAtIndex(ValueLayout.JAVA_INT, length - 1, value);
        }
        int[] read = new int[1];
        buffer.copyTo(length - 1, read, 0, 1);
        assertThat(read[0]).isEqualTo(value);
      }
    }
  }
}

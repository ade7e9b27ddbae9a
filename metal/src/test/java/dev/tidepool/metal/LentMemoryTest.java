package dev.tidepool.metal;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.ElementType;
import dev.tidepool.NativeAccess;
import dev.tidepool.NativeHandle;
import dev.tidepool.NativeKind;
import dev.tidepool.NativeUse;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.interop.DLPack;
import dev.tidepool.interop.DLPackExport;
import dev.tidepool.interop.DLPackTensor;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What other libraries are told of memory that lies in Metal's buffers. */
@ExtendWith(NothingLeaks.class)
class LentMemoryTest {
  /** Where an unversioned {@code DLManagedTensor} has its {@code device_type}. */
  private static final long DEVICE_TYPE = 8;

  @Test
  void aSliceIsLentAsItsBufferAndItsPlaceInThere() {
    Simulation.with(1);
    try (Tidepool tidepool = Simulation.open(new MetalProvider())) {
      UnifiedMemoryManager memory = tidepool.memory(tidepool.accelerator("metal:0"));
      try (UnifiedBuffer<float[]> buffer = memory.allocate(ElementType.FLOAT, 1000);
          UnifiedBuffer<float[]> slice = buffer.slice(10, 20);
          NativeAccess whole = memory.lend(NativeUse.read(buffer));
          NativeAccess part = memory.lend(NativeUse.read(slice))) {
        NativeHandle all = whole.handle(buffer);
        assertThat(all.kind()).isEqualTo(NativeKind.METAL_BUFFER);
        assertThat(all.byteSize()).isEqualTo(4000);
        assertThat(part.handle(slice))
            .isEqualTo(
                new NativeHandle(NativeKind.METAL_BUFFER, all.value(), all.offset() + 40, 80));
      }
    }
  }

  /** Columns: storage, {@code device_type}: memory that the host shares is the host's. */
  @ParameterizedTest
  @CsvSource({"private, 8", "shared, 1"})
  void aTensorSaysWhereItLiesAndComesBackAsTheSameBytes(String storage, int deviceType) {
    Simulation.with(1);
    try (Tidepool tidepool = Simulation.open(new MetalProvider(), storage)) {
      UnifiedMemoryManager memory = tidepool.memory(tidepool.accelerator("metal:0"));
      try (UnifiedBuffer<float[]> buffer = memory.copyOf(new float[] {1, 2, 3});
          DLPackExport export = DLPack.exportUnversioned(buffer)) {
        MemorySegment tensor = MemorySegment.ofAddress(export.address()).reinterpret(16);
        assertThat(tensor.get(ValueLayout.JAVA_INT, DEVICE_TYPE)).isEqualTo(deviceType);
        try (DLPackTensor opened = DLPack.openUnversioned(memory, export.handOver())) {
          float[] seen = new float[3];
          opened.buffer(ElementType.FLOAT).copyTo(seen);
          assertThat(seen).containsExactly(1, 2, 3);
        }
        assertThat(export.isReleased()).isTrue();
      }
    }
  }
}

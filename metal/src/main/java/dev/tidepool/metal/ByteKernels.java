package dev.tidepool.metal;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * Copies and fills of any bytes. Metal's own commands take only multiples of 4. Two small kernels,
 * which are compiled on first use, process the rest.
 */
final class ByteKernels implements AutoCloseable {
  private static final long UNIT = 4;
  private static final long GROUP = 64;

  private static final String SOURCE =
      """
      #include <metal_stdlib>
      using namespace metal;

      struct tp_copied {
        ulong from;
        ulong to;
        ulong bytes;
      };

      kernel void tp_copy(
          device const uchar* from [[buffer(0)]],
          device uchar* to [[buffer(1)]],
          constant tp_copied& copied [[buffer(2)]],
          uint3 group [[threadgroup_position_in_grid]],
          uint3 groups [[threadgroups_per_grid]],
          uint3 local [[thread_position_in_threadgroup]],
          uint3 size [[threads_per_threadgroup]]) {
        const ulong i = ((ulong)group.y * groups.x + group.x) * size.x + local.x;
        if (i < copied.bytes) {
          to[copied.to + i] = from[copied.from + i];
        }
      }

      struct tp_filled {
        ulong to;
        ulong bytes;
        uint word;
        uint width;
      };

      kernel void tp_fill(
          device uchar* to [[buffer(0)]],
          constant tp_filled& filled [[buffer(1)]],
          uint3 group [[threadgroup_position_in_grid]],
          uint3 groups [[threadgroups_per_grid]],
          uint3 local [[thread_position_in_threadgroup]],
          uint3 size [[threads_per_threadgroup]]) {
        const ulong i = ((ulong)group.y * groups.x + group.x) * size.x + local.x;
        if (i < filled.bytes) {
          to[filled.to + i] = (uchar)(filled.word >> (8 * (uint)(i % filled.width)));
        }
      }
      """;

  private final MetalDevice device;
  private final AtomicReference<@Nullable CompiledKernel> copy = new AtomicReference<>();
  private final AtomicReference<@Nullable CompiledKernel> fill = new AtomicReference<>();

  ByteKernels(MetalDevice device) {
    this.device = device;
  }

  /** Copies bytes between buffers of the device, or within one if the ranges do not overlap. */
  void copy(Commands to, long source, long from, long target, long offset, long bytes) {
    if (bytes == 0) {
      return;
    }
    if ((from - offset) % UNIT != 0) {
      copyEach(to, source, from, target, offset, bytes);
      return;
    }
    long head = Math.min(bytes, -offset & (UNIT - 1));
    long tail = (bytes - head) % UNIT;
    long middle = bytes - head - tail;
    if (middle > 0) {
      Metal.copyFromBuffer(to.blit(), source, from + head, target, offset + head, middle);
    }
    copyEach(to, source, from, target, offset, head);
    copyEach(to, source, from + bytes - tail, target, offset + bytes - tail, tail);
  }

  private void copyEach(Commands to, long source, long from, long target, long offset, long bytes) {
    if (bytes == 0) {
      return;
    }
    try (Arena arena = Arena.ofConfined()) {
      long encoder = to.compute();
      Metal.setComputePipelineState(encoder, copyKernel().pipeline());
      Metal.setBuffer(encoder, source, 0, 0);
      Metal.setBuffer(encoder, target, 0, 1);
      Metal.setBytes(encoder, arena.allocateFrom(JAVA_LONG, from, offset, bytes), 2);
      Metal.dispatchThreadgroups(encoder, Groups.inLine(bytes, GROUP), new long[] {GROUP, 1, 1});
    }
  }

  /** Sets bytes of a buffer. */
  void fill(Commands to, long target, long offset, long bytes, byte value) {
    long head = Math.min(bytes, -offset & (UNIT - 1));
    long tail = (bytes - head) % UNIT;
    long middle = bytes - head - tail;
    if (middle > 0) {
      Metal.fillBuffer(to.blit(), target, offset + head, middle, value);
    }
    fillWords(to, target, offset, head, Byte.BYTES, value);
    fillWords(to, target, offset + bytes - tail, tail, Byte.BYTES, value);
  }

  /** Sets words of a buffer. */
  void fillWords(Commands to, long target, long offset, long bytes, int width, int word) {
    if (bytes == 0) {
      return;
    }
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment values = arena.allocate(24, Long.BYTES);
      values.set(JAVA_LONG, 0, offset);
      values.set(JAVA_LONG, 8, bytes);
      values.set(JAVA_INT, 16, word);
      values.set(JAVA_INT, 20, width);
      long encoder = to.compute();
      Metal.setComputePipelineState(encoder, fillKernel().pipeline());
      Metal.setBuffer(encoder, target, 0, 0);
      Metal.setBytes(encoder, values, 1);
      Metal.dispatchThreadgroups(encoder, Groups.inLine(bytes, GROUP), new long[] {GROUP, 1, 1});
    }
  }

  private CompiledKernel copyKernel() {
    return made(copy, "tp_copy");
  }

  private CompiledKernel fillKernel() {
    return made(fill, "tp_fill");
  }

  /**
   * Returns a kernel, compiled on first use. Waits for no other thread, since an autorelease pool
   * of this one may have begun.
   */
  private CompiledKernel made(AtomicReference<@Nullable CompiledKernel> kernel, String entry) {
    CompiledKernel known = kernel.get();
    if (known != null) {
      return known;
    }
    CompiledKernel compiled = CompiledKernel.compile(device, SOURCE, entry);
    CompiledKernel first = kernel.compareAndExchange(null, compiled);
    if (first == null) {
      return compiled;
    }
    compiled.close();
    return first;
  }

  @Override
  public void close() {
    close(copy);
    close(fill);
  }

  private static void close(AtomicReference<@Nullable CompiledKernel> kernel) {
    CompiledKernel compiled = kernel.getAndSet(null);
    if (compiled != null) {
      compiled.close();
    }
  }
}

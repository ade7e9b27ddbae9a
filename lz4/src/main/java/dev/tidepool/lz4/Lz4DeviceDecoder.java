package dev.tidepool.lz4;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import dev.tidepool.Accelerator;
import dev.tidepool.Arguments;
import dev.tidepool.Capability;
import dev.tidepool.ElementType;
import dev.tidepool.Kernel;
import dev.tidepool.KernelParameter;
import dev.tidepool.KernelSource;
import dev.tidepool.LaunchRange;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.WorkItem;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;

/**
 * Decodes independent blocks on an accelerator, one work item for each. A damaged block stops at
 * the damage, writes nothing outside of its room, and is reported; the others are decoded.
 *
 * <p>Safe for use by any thread.
 */
public final class Lz4DeviceDecoder {
  private static final KernelParameter[] PARAMETERS = {
    KernelParameter.in("compressed", ElementType.BYTE),
    KernelParameter.in("blocks", ElementType.LONG),
    KernelParameter.inout("target", ElementType.BYTE),
    KernelParameter.out("sizes", ElementType.LONG)
  };

  /** The number of longs that describe a block. */
  private static final int COLUMNS = 5;

  private static final long DAMAGED = -1;

  /** C code that serves OpenCL and CUDA. It checks each length against the remaining bytes. */
  private static final String FUNCTIONS =
      """
      FUNCTION int more_length(GLOBAL const u8* in, i64* at, i64 end, i64* length) {
        while (*at < end) {
          int more = in[(*at)++];
          *length += more;
          if (more != 255) return 1;
        }
        return 0;
      }

      FUNCTION i64 decode_block(GLOBAL const u8* in, i64 end, GLOBAL u8* out, i64 room) {
        i64 at = 0;
        i64 done = 0;
        while (at < end) {
          int token = in[at++];
          i64 literals = token >> 4;
          if (literals == 15 && !more_length(in, &at, end, &literals)) return -1;
          if (literals > end - at || literals > room - done) return -1;
          for (i64 i = 0; i < literals; i++) out[done + i] = in[at + i];
          at += literals;
          done += literals;
          if (at == end) return done;
          if (end - at < 2) return -1;
          i64 offset = in[at] | in[at + 1] << 8;
          at += 2;
          if (offset == 0 || offset > done) return -1;
          i64 match = token & 15;
          if (match == 15 && !more_length(in, &at, end, &match)) return -1;
          match += 4;
          if (match > room - done) return -1;
          for (i64 i = 0; i < match; i++) out[done + i] = out[done + i - offset];
          done += match;
        }
        return -1;
      }

      """;

  private static final String ENTRY =
      """
      void decode_blocks(GLOBAL const u8* compressed, GLOBAL const i64* blocks,
                         GLOBAL u8* target, GLOBAL i64* sizes) {
        i64 item = ITEM;
        GLOBAL const i64* block = blocks + 5 * item;
        GLOBAL const u8* in = compressed + block[0];
        GLOBAL u8* out = target + block[2];
        if (block[4] == 0) {
          sizes[item] = decode_block(in, block[1], out, block[3]);
        } else if (block[1] > block[3]) {
          sizes[item] = -1;
        } else {
          for (i64 i = 0; i < block[1]; i++) out[i] = in[i];
          sizes[item] = block[1];
        }
      }
      """;

  private static final String OPENCL =
      """
      #define GLOBAL global
      #define FUNCTION static
      #define ITEM get_global_id(0)
      typedef uchar u8;
      typedef long i64;
      """;

  private static final String CUDA =
      """
      #define GLOBAL
      #define ITEM ((long long) blockIdx.x * blockDim.x + threadIdx.x)
      #define FUNCTION static __device__
      typedef unsigned char u8;
      typedef long long i64;
      """;

  private final Kernel kernel;

  /**
   * A block among others.
   *
   * @param source the offset of its compressed bytes
   * @param bytes the number of its compressed bytes
   * @param target the offset of its decoded bytes
   * @param room the most bytes that it may decode to
   * @param stored whether its bytes are not compressed
   */
  public record Block(long source, long bytes, long target, long room, boolean stored) {}

  private Lz4DeviceDecoder(Kernel kernel) {
    this.kernel = kernel;
  }

  /**
   * Returns the decoder of a manager's accelerator; empty if the accelerator runs no hand-written
   * code.
   */
  public static Optional<Lz4DeviceDecoder> of(UnifiedMemoryManager memory) {
    return source(memory.accelerator()).map(source -> new Lz4DeviceDecoder(memory.compile(source)));
  }

  private static Optional<KernelSource> source(Accelerator accelerator) {
    Set<Capability> capabilities = accelerator.capabilities();
    if (capabilities.contains(Capability.CUDA_KERNELS)) {
      return Optional.of(
          KernelSource.cuda(
              CUDA + FUNCTIONS + "extern \"C\" __global__ " + ENTRY, "decode_blocks", PARAMETERS));
    }
    if (capabilities.contains(Capability.OPENCL_KERNELS)) {
      return Optional.of(
          KernelSource.opencl(OPENCL + FUNCTIONS + "kernel " + ENTRY, "decode_blocks", PARAMETERS));
    }
    if (capabilities.contains(Capability.JAVA_KERNELS)) {
      return Optional.of(KernelSource.java(Lz4DeviceDecoder::decodeBlock, PARAMETERS));
    }
    return Optional.empty();
  }

  private static void decodeBlock(WorkItem item) {
    long at = item.globalId(0) * COLUMNS;
    MemorySegment blocks = item.array(1);
    MemorySegment source = item.array(0).asSlice(number(blocks, at), number(blocks, at + 1));
    long from = number(blocks, at + 2);
    long room = number(blocks, at + 3);
    long size = DAMAGED;
    if (number(blocks, at + 4) == 0) {
      // The codec gets copies, because the bytes of a buffer may be a mapped file.
      long most = Math.min(room, Lz4Block.MOST_EXPANSION * source.byteSize());
      MemorySegment decoded = MemorySegment.ofArray(new byte[Math.toIntExact(most)]);
      try {
        size = Lz4Block.decode(MemorySegment.ofArray(source.toArray(JAVA_BYTE)), decoded);
        MemorySegment.copy(decoded, 0, item.array(2), from, size);
      } catch (Lz4FormatException _) {
        // The size reports it. Decode the block on the host to learn more.
      }
    } else if (source.byteSize() <= room) {
      size = source.byteSize();
      MemorySegment.copy(source, 0, item.array(2), from, size);
    }
    item.array(3).setAtIndex(ValueLayout.JAVA_LONG_UNALIGNED, item.globalId(0), size);
  }

  private static long number(MemorySegment numbers, long index) {
    return numbers.getAtIndex(ValueLayout.JAVA_LONG_UNALIGNED, index);
  }

  /**
   * Decodes blocks; returns when they are done. Bytes of {@code target} outside of the rooms of
   * blocks do not change.
   *
   * @param compressed the bytes of all blocks
   * @param target receives the decoded bytes; the rooms of blocks do not overlap
   * @return for each block how many bytes it decodes to, or -1 if it is damaged or has too little
   *     room
   * @throws IndexOutOfBoundsException if a block is not within the buffers
   */
  public long[] decode(
      UnifiedBuffer<byte[]> compressed, List<Block> blocks, UnifiedBuffer<byte[]> target) {
    long[] table = new long[blocks.size() * COLUMNS];
    for (int i = 0; i < blocks.size(); i++) {
      Block block = blocks.get(i);
      Objects.checkFromIndexSize(block.source(), block.bytes(), compressed.byteSize());
      Objects.checkFromIndexSize(block.target(), block.room(), target.byteSize());
      table[i * COLUMNS] = block.source();
      table[i * COLUMNS + 1] = block.bytes();
      table[i * COLUMNS + 2] = block.target();
      table[i * COLUMNS + 3] = block.room();
      table[i * COLUMNS + 4] = block.stored() ? 1 : 0;
    }
    long[] sizes = new long[blocks.size()];
    if (sizes.length > 0) {
      kernel.execute(
          Arguments.of("compressed", compressed, "blocks", table, "target", target, "sizes", sizes),
          LaunchRange.of(sizes.length));
    }
    return sizes;
  }
}

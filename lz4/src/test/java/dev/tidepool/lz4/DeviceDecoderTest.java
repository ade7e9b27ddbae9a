package dev.tidepool.lz4;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.abort;

import dev.tidepool.ElementType;
import dev.tidepool.MemoryOptions;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.cuda.CudaProvider;
import dev.tidepool.opencl.OpenClProvider;
import dev.tidepool.spi.AcceleratorProvider;
import dev.tidepool.spi.Discovery;
import dev.tidepool.testkit.cuda.SimulatedCuda;
import dev.tidepool.testkit.simulated.SimulatedHardware;
import dev.tidepool.testkit.simulated.SimulatedProvider;
import java.io.ByteArrayOutputStream;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@DisplayName("LZ4 blocks on an accelerator")
class DeviceDecoderTest {
  private static final long SEED = Samples.SEED;
  private static final int BLOCKS = 40;
  private static final int ROOM = 5000;

  /** Bytes between rooms, which nothing may touch. */
  private static final int GUARD = 24;

  private static final byte UNTOUCHED = 0x5a;

  @TempDir static Path cache;

  abstract static class OnAnAccelerator {
    abstract Tidepool open();

    static Tidepool open(AcceleratorProvider... providers) {
      MemoryOptions options =
          MemoryOptions.builder().cacheDirectory(cache).calibration(false).build();
      return Discovery.using(List.of(providers), () -> Tidepool.open(options));
    }

    @Test
    void are_decoded_as_on_the_host() {
      Random random = new Random(SEED);
      List<byte[]> blocks = new ArrayList<>();
      for (int i = 0; i < BLOCKS; i++) {
        blocks.add(Samples.compressed(content(i * ROOM / BLOCKS, random)));
      }
      assertThat(decode(blocks, false)).isEqualTo(BLOCKS);
    }

    @Test
    void that_are_stored_are_copied() {
      Random random = new Random(SEED);
      List<byte[]> blocks = new ArrayList<>();
      for (int i = 0; i < BLOCKS; i++) {
        blocks.add(content(i * ROOM / (BLOCKS - 2), random)); // the last one is too large
      }
      assertThat(decode(blocks, true)).isEqualTo(BLOCKS - 1);
    }

    @Test
    void that_are_damaged_are_reported_and_touch_nothing_else() {
      Random random = new Random(SEED);
      List<byte[]> blocks = new ArrayList<>();
      for (int i = 0; i < 20 * BLOCKS; i++) {
        byte[] block = Samples.compressed(content(random.nextInt(ROOM), random));
        for (int change = i % 4; change > 0; change--) {
          block[random.nextInt(block.length)] = (byte) random.nextInt();
        }
        blocks.add(i % 5 == 0 ? Arrays.copyOf(block, random.nextInt(block.length)) : block);
      }
      assertThat(decode(blocks, false)).isBetween(2 * BLOCKS, 18 * BLOCKS);
    }

    /** Compares what blocks decode to with the reference; returns how many were not damaged. */
    private int decode(List<byte[]> blocks, boolean stored) {
      ByteArrayOutputStream source = new ByteArrayOutputStream();
      List<Lz4DeviceDecoder.Block> places = new ArrayList<>();
      for (byte[] block : blocks) {
        long target = GUARD + (long) places.size() * (ROOM + GUARD);
        places.add(new Lz4DeviceDecoder.Block(source.size(), block.length, target, ROOM, stored));
        source.writeBytes(block);
      }
      long[] sizes;
      byte[] found = new byte[GUARD + blocks.size() * (ROOM + GUARD)];
      try (Tidepool tidepool = open()) {
        UnifiedMemoryManager memory = tidepool.memory(tidepool.accelerators().getFirst());
        UnifiedBuffer<byte[]> compressed = memory.allocate(ElementType.BYTE, source.size());
        compressed.copyFrom(source.toByteArray());
        UnifiedBuffer<byte[]> target = memory.allocate(ElementType.BYTE, found.length);
        target.fill(UNTOUCHED);

        sizes = Lz4DeviceDecoder.of(memory).orElseThrow().decode(compressed, places, target);
        target.copyTo(found);
      }

      int whole = 0;
      for (int at = 0; at < found.length; at += ROOM + GUARD) {
        assertThat(Arrays.copyOfRange(found, at, at + GUARD))
            .as("bytes before block %d, seed %d", at / (ROOM + GUARD), SEED)
            .containsOnly(UNTOUCHED);
      }
      for (int i = 0; i < sizes.length; i++) {
        Optional<byte[]> expected = expected(blocks.get(i), stored);
        int from = (int) places.get(i).target();
        // The host's codec refuses more: blocks that do not end as the format demands.
        if (sizes[i] >= 0 || expected.isEmpty() || !mayRefuse(blocks.get(i), stored)) {
          assertThat(sizes[i])
              .as("block %d, seed %d", i, SEED)
              .isEqualTo(expected.map(bytes -> bytes.length).orElse(-1).longValue());
        }
        if (sizes[i] >= 0) {
          whole++;
          assertThat(Arrays.copyOfRange(found, from, from + (int) sizes[i]))
              .as("block %d, seed %d", i, SEED)
              .isEqualTo(expected.orElseThrow());
        }
      }
      return whole;
    }

    private static Optional<byte[]> expected(byte[] block, boolean stored) {
      if (!stored) {
        return ReferenceDecoder.decode(block, ROOM);
      }
      return block.length <= ROOM ? Optional.of(block) : Optional.empty();
    }

    private static boolean mayRefuse(byte[] block, boolean stored) {
      if (stored) {
        return false;
      }
      try {
        Lz4Block.decode(
            java.lang.foreign.MemorySegment.ofArray(block),
            java.lang.foreign.MemorySegment.ofArray(new byte[ROOM]));
        return false;
      } catch (Lz4FormatException _) {
        return true;
      }
    }

    /** Bytes that repeat in part. */
    private static byte[] content(int length, Random random) {
      byte[] bytes = new byte[length];
      for (int i = 0; i < length; i++) {
        boolean repeats = i > 40 && random.nextInt(10) > 0;
        bytes[i] = repeats ? bytes[i - 1 - i / 9 % 39] : (byte) random.nextInt();
      }
      return bytes;
    }
  }

  @Nested
  class OnTheCpu extends OnAnAccelerator {
    @Override
    Tidepool open() {
      return open(new AcceleratorProvider[0]);
    }
  }

  @Nested
  class OnASimulatedDevice extends OnAnAccelerator {
    @Override
    Tidepool open() {
      return open(new SimulatedProvider(SimulatedHardware.discrete()));
    }
  }

  @Nested
  class OnOpenCl extends OnAnAccelerator {
    @Override
    Tidepool open() {
      Tidepool tidepool = open(new OpenClProvider());
      if (tidepool.accelerators().size() == 1) {
        tidepool.close();
        skip("NO OPENCL DEVICE: apt install pocl-opencl-icd ocl-icd-libopencl1");
      }
      return tidepool;
    }
  }

  @Nested
  class OnCuda extends OnAnAccelerator {
    @Override
    Tidepool open() {
      Optional<SimulatedCuda> simulated = SimulatedCuda.find();
      if (simulated.isEmpty()) {
        skip("NO SIMULATED CUDA: " + SimulatedCuda.whyAbsent());
      }
      System.setProperty("tidepool.cuda.library", simulated.get().driver().toString());
      System.setProperty("tidepool.nvrtc", simulated.get().compiler().toString());
      System.setProperty("tidepool.cuda.cache", cache.toString());
      simulated.get().reset(1);
      return open(new CudaProvider());
    }
  }

  private static void skip(String message) {
    assertTrue(!"true".equals(System.getenv("CI")), message);
    System.err.println(message);
    abort(message);
  }
}

package dev.tidepool.lz4;

import dev.tidepool.AcceleratorException;
import dev.tidepool.Allocation;
import dev.tidepool.Arguments;
import dev.tidepool.Capability;
import dev.tidepool.ElementType;
import dev.tidepool.HostMapping;
import dev.tidepool.Kernel;
import dev.tidepool.KernelSource;
import dev.tidepool.MapMode;
import dev.tidepool.MemoryLocation;
import dev.tidepool.OutOfDeviceMemoryException;
import dev.tidepool.TidepoolException;
import dev.tidepool.TransferException;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Sends blocks of a compressed file to an accelerator as they are, and decodes them there. Used if
 * that was measured to be faster than decoding on the host: over a slow link to a device with
 * memory of its own. Safe for use by any thread.
 */
final class Lz4DeviceSource {
  private static final String TAG = "compressed transfer";

  /**
   * Blocks that decode to more than this many times the requested bytes take too much device
   * memory.
   */
  private static final int MOST_WASTE = 2;

  private final UnifiedMemoryManager memory;
  private final Lz4DeviceDecoder decoder;
  private final Lz4Costs costs;
  private final Kernel copy;

  Lz4DeviceSource(UnifiedMemoryManager memory, Lz4DeviceDecoder decoder, Lz4Costs costs) {
    this.memory = memory;
    this.decoder = decoder;
    this.costs = costs;
    this.copy = memory.compile(KernelSource.elementwise("to = from"));
  }

  /**
   * Returns the source for a manager's accelerator; empty if there is no transfer, or no code to
   * decode.
   */
  static Optional<Lz4DeviceSource> to(UnifiedMemoryManager memory) {
    if (memory.accelerator().capabilities().contains(Capability.SHARED_MEMORY)) {
      return Optional.empty();
    }
    try {
      return Lz4DeviceDecoder.of(memory)
          .flatMap(
              decoder ->
                  Lz4Measurement.of(memory, decoder)
                      .map(costs -> new Lz4DeviceSource(memory, decoder, costs)));
    } catch (TidepoolException | UnsupportedOperationException _) {
      return Optional.empty(); // A failure that matters occurs again in the work itself.
    }
  }

  /**
   * Fills a buffer with decoded bytes, from {@code position} of the whole decoded content on.
   *
   * @return false if the host decodes faster or has to, if a block turns out to be damaged on the
   *     device, or if the device fails or has no room for the blocks
   * @throws Lz4FormatException if a block is found damaged before it is sent
   */
  boolean load(Lz4Index index, long position, UnifiedBuffer<byte[]> destination)
      throws IOException {
    int first = index.find(position);
    int last = index.find(position + destination.byteSize() - 1);
    if (last == index.blocks()) {
      return false;
    }
    long start = index.start(first);
    long decoded = index.start(last + 1) - start;
    if (decoded > MOST_WASTE * destination.byteSize()) {
      return false;
    }
    List<Lz4DeviceDecoder.Block> blocks = new ArrayList<>();
    long compressed = 0;
    for (int block = first; block <= last; block++) {
      if (!index.isCheckedAlone(block)) {
        return false;
      }
      long target = index.start(block) - start;
      long room = index.start(block + 1) - start - target;
      blocks.add(
          new Lz4DeviceDecoder.Block(
              compressed, index.compressedBytes(block), target, room, index.isStored(block)));
      compressed += index.compressedBytes(block);
    }
    try {
      return costs.favoursDevice(compressed, decoded)
          && decode(index, first, blocks, compressed, decoded, position - start, destination);
    } catch (OutOfDeviceMemoryException _) {
      return false; // The host needs only the destination there.
    } catch (Lz4FormatException e) {
      throw e;
    } catch (AcceleratorException | TransferException _) {
      return false; // The accelerator's next command fails, too, and is reported.
    }
  }

  private boolean decode(
      Lz4Index index,
      int first,
      List<Lz4DeviceDecoder.Block> blocks,
      long compressed,
      long decoded,
      long skipped,
      UnifiedBuffer<byte[]> destination)
      throws IOException {
    try (UnifiedBuffer<byte[]> source = allocate(compressed, MemoryLocation.PINNED);
        UnifiedBuffer<byte[]> target = allocate(decoded, MemoryLocation.DEVICE)) {
      try (HostMapping mapping = source.map(MapMode.WRITE)) {
        for (int i = 0; i < blocks.size(); i++) {
          Lz4DeviceDecoder.Block block = blocks.get(i);
          index.read(first + i, mapping.segment().asSlice(block.source(), block.bytes()));
        }
      }
      long[] sizes = decoder.decode(source, blocks, target);
      for (int i = 0; i < sizes.length; i++) {
        if (sizes[i] != blocks.get(i).room()) {
          return false;
        }
      }
      // Blocks begin and end anywhere: the requested bytes are somewhere within them.
      copy.execute(
          Arguments.of("from", target.slice(skipped, destination.length()), "to", destination));
      return true;
    }
  }

  private UnifiedBuffer<byte[]> allocate(long bytes, MemoryLocation location) {
    return memory.allocate(ElementType.BYTE, bytes, Allocation.at(location).tag(TAG));
  }
}

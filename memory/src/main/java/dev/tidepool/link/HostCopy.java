package dev.tidepool.link;

import dev.tidepool.spi.Block;
import dev.tidepool.spi.Event;
import dev.tidepool.spi.Piece;
import dev.tidepool.spi.Queue;
import java.lang.foreign.MemorySegment;
import java.util.List;

/**
 * A direction of transfers between host and device: its commands, and the host's copies before or
 * after them if bytes pass through a staging block.
 */
enum HostCopy {
  /** To the device: the host fills the staging block before the command. */
  UPLOAD {
    @Override
    Event submit(Queue queue, MemorySegment host, Block block, long offset) {
      return queue.write(host, block, offset);
    }

    @Override
    void moveNow(Queue queue, MemorySegment host, Block block, long offset) {
      queue.writeNow(host, block, offset);
    }

    @Override
    Event submitAll(Queue queue, MemorySegment staged, List<Piece> pieces) {
      return queue.scatter(staged, pieces);
    }

    @Override
    void fill(HostRegion bytes, long at, MemorySegment staged) {
      bytes.stage(at, staged);
    }

    @Override
    void empty(HostRegion bytes, long at, MemorySegment staged) {}
  },

  /** From the device: the host empties the staging block after the command. */
  DOWNLOAD {
    @Override
    Event submit(Queue queue, MemorySegment host, Block block, long offset) {
      return queue.read(block, offset, host);
    }

    @Override
    void moveNow(Queue queue, MemorySegment host, Block block, long offset) {
      queue.readNow(block, offset, host);
    }

    @Override
    Event submitAll(Queue queue, MemorySegment staged, List<Piece> pieces) {
      return queue.gather(pieces, staged);
    }

    @Override
    void fill(HostRegion bytes, long at, MemorySegment staged) {}

    @Override
    void empty(HostRegion bytes, long at, MemorySegment staged) {
      bytes.copyFrom(staged, at);
    }
  };

  /** Submits the command that moves a segment to or from a block. */
  abstract Event submit(Queue queue, MemorySegment host, Block block, long offset);

  /** Moves a segment to or from a block, and waits. */
  abstract void moveNow(Queue queue, MemorySegment host, Block block, long offset);

  /** Submits one command for all pieces of a staging block. */
  abstract Event submitAll(Queue queue, MemorySegment staged, List<Piece> pieces);

  /** Copies bytes, from {@code at} on, to the staging block before the command. */
  abstract void fill(HostRegion bytes, long at, MemorySegment staged);

  /** Copies bytes, from {@code at} on, from the staging block after the command. */
  abstract void empty(HostRegion bytes, long at, MemorySegment staged);
}

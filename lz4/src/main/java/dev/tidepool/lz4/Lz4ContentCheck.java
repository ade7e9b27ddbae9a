package dev.tidepool.lz4;

import java.io.IOException;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Compares the decoded bytes of an LZ4 file's frames with the checksums at the ends of the frames.
 *
 * <p>Such a checksum takes all bytes in order, but readers read in any order. A decoded block is
 * therefore added when it is its turn, and blocks that were never decoded in turn are decoded again
 * at the end. Readers that go through the file in parallel leave few of them.
 *
 * <p>Locking: {@link #turn} guards the sum and the progress. Readers acquire it only if it is free.
 */
final class Lz4ContentCheck {
  private final Lz4Index index;
  private final Lz4BlockCache cache;
  private final ReentrantLock turn = new ReentrantLock();
  private XxHash32 sum = new XxHash32();
  private volatile int next;
  private volatile boolean leftToBlocks;
  private int checkedFrames;

  Lz4ContentCheck(Lz4Index index, Lz4BlockCache cache) {
    this.index = index;
    this.cache = cache;
  }

  /** Adds the decoded blocks whose turn it is, unless another thread does. */
  void advance() throws IOException {
    Lz4BlockCache.Slot slot = cache.holdIfReady(next);
    while (slot != null) {
      try {
        if (!turn.tryLock()) {
          return;
        }
        try {
          if (slot.block() == next) {
            add(slot);
          }
        } finally {
          turn.unlock();
        }
      } finally {
        cache.release(slot);
      }
      slot = cache.holdIfReady(next);
    }
  }

  /**
   * Reports that blocks were decoded where no thread adds them. The checksums of blocks then
   * suffice for frames that have them; only other frames are still compared with their content
   * checksums.
   */
  void leaveToBlocks() {
    leftToBlocks = true;
  }

  private boolean isWanted(Lz4Index.Frame frame) {
    Lz4Frame header = frame.header();
    return header.contentChecksum() && !(leftToBlocks && header.blockChecksums());
  }

  /**
   * Decodes and adds the remaining blocks, to the end.
   *
   * @throws Lz4FormatException if a checksum is wrong
   */
  void finish() throws IOException {
    turn.lock();
    try {
      for (int block = next; block < index.blocks(); block = next) {
        if (isWanted(index.frame(block))) {
          Lz4BlockCache.Slot slot = cache.hold(block);
          try {
            add(slot);
          } finally {
            cache.release(slot);
          }
        } else {
          next = block + 1;
        }
      }
      checkFrames();
    } finally {
      turn.unlock();
    }
  }

  private void add(Lz4BlockCache.Slot slot) throws IOException {
    checkFrames();
    if (isWanted(index.frame(slot.block()))) {
      sum.update(slot.bytes());
    }
    next = slot.block() + 1;
    checkFrames();
  }

  /** Compares the checksums of the frames that end where the next block begins. */
  private void checkFrames() throws IOException {
    while (checkedFrames < index.frames().size()) {
      Lz4Index.Frame frame = index.frames().get(checkedFrames);
      if (frame.endBlock() > next) {
        return;
      }
      if (isWanted(frame) && index.contentChecksum(frame) != sum.value()) {
        throw new Lz4FormatException(
            "it is damaged: the checksum of blocks %s to %s is wrong"
                .formatted(frame.firstBlock(), frame.endBlock() - 1));
      }
      sum = new XxHash32();
      checkedFrames++;
    }
  }
}

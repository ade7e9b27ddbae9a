package dev.tidepool;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** Copies elements between a carrier array, whose bounds are already checked, and memory. */
interface ElementCopier<A> {
  void write(A source, int sourceIndex, MemorySegment target, long offset, int count);

  void read(MemorySegment source, long offset, A target, int targetIndex, int count);

  static <A> ElementCopier<A> primitive(ValueLayout layout) {
    if (layout.carrier() == boolean.class) {
      @SuppressWarnings("unchecked") // the carrier of boolean elements is boolean[]
      ElementCopier<A> booleans = (ElementCopier<A>) new Booleans();
      return booleans;
    }
    return new Bulk<>(layout);
  }

  /** Copies primitives that a segment copies in bulk. */
  record Bulk<A>(ValueLayout layout) implements ElementCopier<A> {
    @Override
    public void write(A source, int sourceIndex, MemorySegment target, long offset, int count) {
      MemorySegment.copy(source, sourceIndex, target, layout, offset, count);
    }

    @Override
    public void read(MemorySegment source, long offset, A target, int targetIndex, int count) {
      MemorySegment.copy(source, layout, offset, target, targetIndex, count);
    }
  }

  /** Copies booleans, which segments do not copy in bulk, through a block of bytes. */
  record Booleans() implements ElementCopier<boolean[]> {
    private static final int BLOCK = 4096;

    @Override
    public void write(boolean[] source, int sourceIndex, MemorySegment target, long offset, int n) {
      byte[] block = new byte[Math.min(n, BLOCK)];
      for (int done = 0; done < n; done += block.length) {
        int count = Math.min(block.length, n - done);
        for (int i = 0; i < count; i++) {
          block[i] = (byte) (source[sourceIndex + done + i] ? 1 : 0);
        }
        MemorySegment.copy(block, 0, target, ValueLayout.JAVA_BYTE, offset + done, count);
      }
    }

    @Override
    public void read(MemorySegment source, long offset, boolean[] target, int targetIndex, int n) {
      byte[] block = new byte[Math.min(n, BLOCK)];
      for (int done = 0; done < n; done += block.length) {
        int count = Math.min(block.length, n - done);
        MemorySegment.copy(source, ValueLayout.JAVA_BYTE, offset + done, block, 0, count);
        for (int i = 0; i < count; i++) {
          target[targetIndex + done + i] = block[i] != 0;
        }
      }
    }
  }
}

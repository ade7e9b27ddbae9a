package dev.tidepool.runtime.storage;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.ReadableByteChannel;
import java.nio.channels.WritableByteChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** While a slow disk cuts the file off. The time limit is for waiting for ever. */
@Timeout(60)
final class SpillFileCutTest {
  @TempDir private Path directory;

  private static final int BYTES = 4096;

  @Test
  void noThreadWaitsForItButThoseThatWrite() throws Exception {
    Path path = directory.resolve("spilled");
    try (Arena arena = Arena.ofShared();
        SlowCuts channel = new SlowCuts(path);
        SpillFile file = new SpillFile(path, channel)) {
      MemorySegment source = arena.allocate(BYTES);
      MemorySegment destination = arena.allocate(BYTES);
      source.fill((byte) 7);
      file.reserve(BYTES).drop();
      channel.begun.await();
      SpillFile.Extent extent = file.reserve(BYTES);
      file.reserve(BYTES).drop();
      assertThat(file.spilledBytes()).isEqualTo(BYTES);
      Thread writing = Thread.ofPlatform().start(() -> extent.write(0, source));
      writing.join(200);
      assertThat(writing.isAlive()).as("writes come after the cut").isTrue();
      channel.going.countDown();
      writing.join();
      extent.read(destination);
      assertThat(destination.toArray(ValueLayout.JAVA_BYTE)).containsOnly(7);
      extent.drop();
      assertThat(file.spilledBytes()).isZero();
    }
  }

  /** A file that is cut off only when the test goes on. */
  private static final class SlowCuts extends FileChannel {
    private final FileChannel file;
    final CountDownLatch begun = new CountDownLatch(1);
    final CountDownLatch going = new CountDownLatch(1);

    SlowCuts(Path path) throws IOException {
      file =
          FileChannel.open(
              path,
              StandardOpenOption.CREATE_NEW,
              StandardOpenOption.READ,
              StandardOpenOption.WRITE);
    }

    @Override
    public FileChannel truncate(long size) throws IOException {
      begun.countDown();
      try {
        going.await();
      } catch (InterruptedException e) {
        throw new AssertionError(e);
      }
      file.truncate(size);
      return this;
    }

    @Override
    public int read(ByteBuffer destination, long position) throws IOException {
      return file.read(destination, position);
    }

    @Override
    public int write(ByteBuffer source, long position) throws IOException {
      return file.write(source, position);
    }

    @Override
    public long size() throws IOException {
      return file.size();
    }

    @Override
    protected void implCloseChannel() throws IOException {
      file.close();
    }

    @Override
    public int read(ByteBuffer destination) {
      throw new UnsupportedOperationException();
    }

    @Override
    public long read(ByteBuffer[] destinations, int offset, int length) {
      throw new UnsupportedOperationException();
    }

    @Override
    public int write(ByteBuffer source) {
      throw new UnsupportedOperationException();
    }

    @Override
    public long write(ByteBuffer[] sources, int offset, int length) {
      throw new UnsupportedOperationException();
    }

    @Override
    public long position() {
      throw new UnsupportedOperationException();
    }

    @Override
    public FileChannel position(long position) {
      throw new UnsupportedOperationException();
    }

    @Override
    public void force(boolean metadata) {
      throw new UnsupportedOperationException();
    }

    @Override
    public long transferTo(long position, long count, WritableByteChannel target) {
      throw new UnsupportedOperationException();
    }

    @Override
    public long transferFrom(ReadableByteChannel source, long position, long count) {
      throw new UnsupportedOperationException();
    }

    @Override
    public MappedByteBuffer map(MapMode mode, long position, long size) {
      throw new UnsupportedOperationException();
    }

    @Override
    public FileLock lock(long position, long size, boolean shared) {
      throw new UnsupportedOperationException();
    }

    @Override
    public FileLock tryLock(long position, long size, boolean shared) {
      throw new UnsupportedOperationException();
    }
  }
}

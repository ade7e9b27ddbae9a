package dev.tidepool.lz4;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.ElementType;
import dev.tidepool.Kernel;
import dev.tidepool.KernelSource;
import dev.tidepool.MemoryLocation;
import dev.tidepool.MemoryOptions;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.codec.ByteSource;
import dev.tidepool.spi.AcceleratorProvider;
import dev.tidepool.spi.Discovery;
import dev.tidepool.spi.HostAccess;
import dev.tidepool.stream.ChunkedPipeline;
import dev.tidepool.stream.ElementSink;
import dev.tidepool.stream.ElementSource;
import dev.tidepool.stream.StreamOptions;
import dev.tidepool.testkit.SpiCall;
import dev.tidepool.testkit.fault.Failure;
import dev.tidepool.testkit.fault.FaultInjector;
import dev.tidepool.testkit.simulated.SimulatedHardware;
import dev.tidepool.testkit.simulated.SimulatedLink;
import dev.tidepool.testkit.simulated.SimulatedLink.Speed;
import dev.tidepool.testkit.simulated.SimulatedProvider;
import dev.tidepool.transfer.TransferCalibration.Cost;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@DisplayName("Compressed blocks on their way to a device")
class Lz4DeviceSourceTest {
  /** Over a link of 100 MB/s, what is a tenth is there in a tenth of the time. */
  private static final Lz4Costs SLOW_LINK = new Lz4Costs(new Cost(1e4, 10), 1e9, 1e10);

  private static final Lz4Costs FAST_LINK = new Lz4Costs(new Cost(1e4, 0.05), 1e9, 5e8);
  private static final int BYTES = 1_000_000;

  @TempDir Path folder;

  private final SimulatedProvider simulated = new SimulatedProvider(SimulatedHardware.discrete());
  private Tidepool tidepool;
  private UnifiedMemoryManager memory;

  @BeforeEach
  void open() {
    tidepool = opened(simulated);
    memory = tidepool.memory();
  }

  /** Calibrations of simulated devices are kept in a folder of the test's own. */
  private Tidepool opened(AcceleratorProvider provider) {
    MemoryOptions options = MemoryOptions.builder().cacheDirectory(folder).build();
    return Discovery.using(List.of(provider), () -> Tidepool.open(options));
  }

  @AfterEach
  void close() {
    tidepool.close();
    assertThat(simulated.violations()).isEmpty();
  }

  private static byte[] content() {
    byte[] bytes = new byte[BYTES];
    for (int i = 0; i < BYTES; i++) {
      bytes[i] = (byte) (i % 1021 * (1 + i / 100_000));
    }
    return bytes;
  }

  private static Lz4Frame header() {
    return Lz4Frame.of(BYTES).withBlockChecksums(true);
  }

  private static ByteSource file(Lz4Frame header) throws IOException {
    return new Samples.File(Samples.frame(header, content()));
  }

  private Lz4DeviceSource deviceSource(Lz4Costs costs) {
    return new Lz4DeviceSource(memory, Lz4DeviceDecoder.of(memory).orElseThrow(), costs);
  }

  /** The bytes that a buffer has after it was loaded; null if it was not. */
  private byte[] loaded(Lz4Index index, Lz4Costs costs, int from, int count) throws IOException {
    try (UnifiedBuffer<byte[]> buffer =
        memory.allocate(ElementType.BYTE, count, MemoryLocation.PINNED)) {
      if (!deviceSource(costs).load(index, from, buffer)) {
        return null;
      }
      byte[] bytes = new byte[count];
      buffer.copyTo(bytes);
      return bytes;
    }
  }

  @Test
  void travel_as_they_are_over_a_slow_link() throws IOException {
    try (ByteSource file = file(header())) {
      Lz4Index index = new Lz4Index(file);
      long before = memory.transfers().statistics().hostToDeviceBytes();

      assertThat(loaded(index, SLOW_LINK, 0, BYTES)).isEqualTo(content());

      assertThat(memory.transfers().statistics().hostToDeviceBytes() - before)
          .isBetween(1000L, BYTES / 4L);
    }
  }

  @Test
  void give_any_part_of_what_they_decode_to() throws IOException {
    try (ByteSource file = file(header())) {
      Lz4Index index = new Lz4Index(file);
      for (int from : new int[] {0, 1, 65_535, 65_536, 65_537, 500_000, BYTES - 10_000}) {
        int count = Math.min(131_073, BYTES - from);

        assertThat(loaded(index, SLOW_LINK, from, count))
            .isEqualTo(Arrays.copyOfRange(content(), from, from + count));
      }
    }
  }

  @Test
  void are_left_to_the_host_over_a_fast_link() throws IOException {
    try (ByteSource file = file(header())) {
      assertThat(loaded(new Lz4Index(file), FAST_LINK, 0, BYTES)).isNull();
    }
  }

  @Test
  void are_left_to_the_host_where_only_all_bytes_together_have_a_checksum() throws IOException {
    try (ByteSource file = file(header().withBlockChecksums(false))) {
      assertThat(loaded(new Lz4Index(file), SLOW_LINK, 0, BYTES)).isNull();
    }
  }

  @Test
  void are_left_to_the_host_where_little_of_them_is_wanted() throws IOException {
    try (ByteSource file = file(header())) {
      Lz4Index index = new Lz4Index(file);

      assertThat(loaded(index, SLOW_LINK, 65_536, 32_768)).isNotNull();
      assertThat(loaded(index, SLOW_LINK, 65_536, 32_767)).isNull();
      assertThat(loaded(index, SLOW_LINK, 65_000, 65_000)).isNull();
    }
  }

  @Test
  void are_left_to_the_host_where_the_device_has_no_room_for_them() throws IOException {
    close();
    tidepool =
        opened(new SimulatedProvider(SimulatedHardware.discrete().withMaximumAllocation(1 << 19)));
    memory = tidepool.memory();
    try (ByteSource file = file(header())) {
      Lz4Index index = new Lz4Index(file);

      assertThat(loaded(index, SLOW_LINK, 0, 131_072)).isNotNull();
      assertThat(loaded(index, SLOW_LINK, 0, BYTES)).isNull();
    }
  }

  @Test
  void are_left_to_the_host_where_the_device_fails() throws IOException {
    close();
    FaultInjector faults = new FaultInjector(new SimulatedProvider(SimulatedHardware.discrete()));
    tidepool = opened(faults);
    memory = tidepool.memory();
    try (ByteSource file = file(header())) {
      faults.failAlways(SpiCall.WRITE, Failure.REFUSED);

      assertThat(loaded(new Lz4Index(file), SLOW_LINK, 0, BYTES)).isNull();
      assertThat(faults.fired()).contains(SpiCall.WRITE);
    }
  }

  @Test
  void that_are_damaged_are_left_to_the_host() throws IOException {
    try (ByteSource file = damaged(header())) {
      Lz4Index index = new Lz4Index(file);
      assertThatThrownBy(() -> loaded(index, SLOW_LINK, 70_000, 40_000))
          .isInstanceOf(Lz4FormatException.class)
          .hasMessageContaining("its checksum is wrong");
    }
    Lz4Frame unchecked = header().withBlockChecksums(false).withContentChecksum(false);
    try (ByteSource file = damaged(unchecked)) {
      assertThat(loaded(new Lz4Index(file), SLOW_LINK, 70_000, 40_000)).isNull();
    }
  }

  /** A file whose second block has a match that reaches back too far. */
  private static ByteSource damaged(Lz4Frame header) throws IOException {
    ByteBuffer bytes =
        ByteBuffer.wrap(Samples.frame(header, content())).order(ByteOrder.LITTLE_ENDIAN);
    int first = header.headerBytes();
    int second = first + 4 + bytes.getInt(first) + (header.blockChecksums() ? 4 : 0);
    int at = second + 4;
    int literals = (bytes.get(at++) & 0xff) >>> 4;
    if (literals == 15) {
      int more;
      do {
        more = bytes.get(at++) & 0xff;
        literals += more;
      } while (more == 255);
    }
    bytes.putShort(at + literals, (short) 0xffff);
    return new Samples.File(bytes.array());
  }

  @Test
  void feed_a_pipeline_without_being_decoded_on_the_host() throws IOException {
    byte[] result = new byte[BYTES];
    AtomicInteger loads = new AtomicInteger();
    try (ByteSource file = file(header())) {
      Kernel kernel = memory.compile(KernelSource.elementwise("y = x + 1"));
      ChunkedPipeline.of(memory, kernel)
          .source("x", new CompressedBytes(new Lz4Index(file), deviceSource(SLOW_LINK), loads))
          .sink("y", new Bytes(result))
          .build(StreamOptions.defaults().withChunkBytes(131_072))
          .run();
    }
    byte[] expected = content();
    for (int i = 0; i < BYTES; i++) {
      expected[i]++;
    }
    assertThat(result).isEqualTo(expected);
    assertThat(loads).hasPositiveValue();
  }

  @Test
  void travel_as_they_are_where_the_calibration_says_that_it_wins() {
    // Ten times slower than where it begins to win, so that no measurement errs so much.
    assertThat(measured(SimulatedLink.both(Speed.of(10, 40), Speed.of(10, 40))))
        .hasValueSatisfying(
            costs -> {
              Lz4Costs decoding = new Lz4Costs(costs.link(), 1e9, 5e8);
              assertThat(decoding.favoursDevice(50_000_000, 100_000_000)).isTrue();
            });
    assertThat(measured(SimulatedLink.INSTANT)).isPresent();
  }

  private Optional<Lz4Costs> measured(SimulatedLink link) {
    SimulatedProvider provider = new SimulatedProvider(SimulatedHardware.discrete().withLink(link));
    try (Tidepool own = opened(provider)) {
      UnifiedMemoryManager manager = own.memory();
      return Lz4Measurement.of(manager, Lz4DeviceDecoder.of(manager).orElseThrow());
    }
  }

  @Test
  void are_left_to_the_host_where_memory_is_shared() {
    SimulatedHardware shared = SimulatedHardware.discrete().withHostAccess(HostAccess.DIRECT);
    SimulatedProvider provider = new SimulatedProvider(shared);
    try (Tidepool own = opened(provider)) {
      assertThat(Lz4DeviceSource.to(own.memory())).isEmpty();
    }
    assertThat(Lz4DeviceSource.to(memory)).isPresent();
  }

  @Test
  void cost_what_their_bytes_and_both_decoders_say() {
    Lz4Costs costs = new Lz4Costs(new Cost(1e6, 1), 2e9, 4e9);

    assertThat(costs.hostNanos(1_000_000_000)).isEqualTo(1.501e9);
    assertThat(costs.deviceNanos(500_000_000, 1_000_000_000)).isEqualTo(0.752e9);
    assertThat(costs.favoursDevice(500_000_000, 1_000_000_000)).isTrue();
    assertThat(costs.favoursDevice(1_250_000_000, 1_000_000_000)).isFalse();
    assertThat(costs.favoursDevice(500, 1000)).isFalse();
    assertThatThrownBy(() -> new Lz4Costs(new Cost(0, 1), 0, 1))
        .isInstanceOf(IllegalArgumentException.class);
  }

  /** A source that only a device can read. */
  private record CompressedBytes(Lz4Index index, Lz4DeviceSource deviceSource, AtomicInteger loads)
      implements ElementSource {
    @Override
    public ElementType<?> elementType() {
      return ElementType.BYTE;
    }

    @Override
    public long length() {
      return BYTES;
    }

    @Override
    public void read(long elementOffset, MemorySegment destination) {
      throw new AssertionError("read on the host");
    }

    @Override
    public boolean load(
        long elementOffset, UnifiedBuffer<?> destination, UnifiedMemoryManager memory) {
      loads.incrementAndGet();
      try {
        return deviceSource.load(index, elementOffset, destination.as(ElementType.BYTE));
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }

  private record Bytes(byte[] bytes) implements ElementSink {
    @Override
    public ElementType<?> elementType() {
      return ElementType.BYTE;
    }

    @Override
    public long length() {
      return bytes.length;
    }

    @Override
    public void write(long elementOffset, MemorySegment source) {
      MemorySegment.copy(source, 0, MemorySegment.ofArray(bytes), elementOffset, source.byteSize());
    }
  }
}

package dev.tidepool.link;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.tidepool.link.StagingModel.Plan;
import dev.tidepool.transfer.TransferCalibration;
import dev.tidepool.transfer.TransferCalibration.Cost;
import dev.tidepool.transfer.TransferCalibration.Leg;
import java.time.Instant;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** How staged transfers are cut, by the model alone. */
class StagingModelTest {
  private static final long MOST = 16 << 20;
  private static final long BYTES = 256 << 20;

  @Test
  void oneChunkGoesThroughBothStagesAfterEachOther() {
    StagingModel model = new StagingModel(0.1, 10_000, 0.5, 3_000);
    assertThat(model.nanos(1_000_000, MOST, 2)).isEqualTo(100_000 + 510_000 + 3_000);
  }

  @Test
  void furtherChunksTakeTheSlowerStagesTimeEach() {
    StagingModel slowLink = new StagingModel(0.1, 10_000, 0.5, 0);
    assertThat(slowLink.nanos(4_000_000, 1_000_000, 2)).isEqualTo(610_000 + 3 * 510_000);
    StagingModel slowHost = new StagingModel(0.9, 10_000, 0.5, 0);
    assertThat(slowHost.nanos(4_000_000, 1_000_000, 2)).isEqualTo(1_410_000 + 3 * 900_000);
  }

  @Test
  void aThreadThatNoticesLateIsWhatMoreBlocksAreFor() {
    StagingModel late = new StagingModel(0.1, 10_000, 0.1, 300_000);
    assertThat(late.nanos(BYTES, 1 << 20, 4)).isLessThan(late.nanos(BYTES, 1 << 20, 2) * 0.6);
    Plan plan = new StagingModel(0.1, 10_000, 0.1, 2_000_000).best(BYTES, 4 << 20);
    assertThat(plan.depth()).isEqualTo(StagingModel.DEEPEST);
  }

  /** Where the link is slower, the best size is the root of bytes * latency / host. */
  @ParameterizedTest
  @CsvSource({"10000,0.1,0.5", "100000,0.05,0.2", "5000,0.02,1", "1000000,0.3,2"})
  void onASlowLinkTheChunkIsTheOneOfTheClosedFormula(double latency, double host, double link) {
    Plan plan = new StagingModel(host, latency, link, 0).best(BYTES, 1L << 30);
    double formula = Math.sqrt(BYTES * latency / host);
    assertThat(plan.chunk() / formula).as("within a power of two").isBetween(0.48, 2.1);
  }

  /** Where the host is slower, chunks are about as small as lets the link keep up. */
  @Test
  void onAFastLinkChunksAreSmall() {
    Plan plan = new StagingModel(0.1, 20_000, 0.02, 0).best(BYTES, MOST);
    assertThat(plan.chunk()).isBetween(256L << 10, 512L << 10);
    assertThat(plan.depth()).as("neither side waits when the other is held up once").isEqualTo(3);
  }

  @Test
  void noOtherSizeAndDepthIsFasterAndNoneExceedsTheLargestChunk() {
    for (double host : new double[] {0.02, 0.1, 0.5}) {
      for (double link : new double[] {0.02, 0.1, 1}) {
        for (double latency : new double[] {1_000, 30_000, 1_000_000}) {
          for (long most : new long[] {4096, 1 << 20, 3_000_000, MOST}) {
            for (long bytes : new long[] {1, 70_000, 5_000_000, BYTES}) {
              StagingModel model = new StagingModel(host, latency, link, 10_000);
              Plan plan = model.best(bytes, most);
              assertThat(plan.chunk()).isLessThanOrEqualTo(most);
              for (long chunk = most; chunk >= StagingModel.SMALLEST_CHUNK; chunk /= 2) {
                for (int depth = 2; depth <= StagingModel.DEEPEST; depth++) {
                  assertThat(plan.nanos())
                      .isLessThanOrEqualTo(model.nanos(bytes, chunk, depth) * 1.001);
                }
              }
            }
          }
        }
      }
    }
  }

  @Test
  void theModelIsTheCalibrations() {
    TransferCalibration calibration =
        new TransferCalibration(
            Instant.EPOCH,
            Map.of(
                Leg.PINNED_UP, new Cost(40_000, 0.2),
                Leg.HOST_COPY, new Cost(0, 0.1),
                Leg.CHUNK, new Cost(10_000, 0.2)),
            Map.of());
    assertThat(StagingModel.of(calibration, true, true))
        .hasValue(new StagingModel(0.1, 10_000, 0.2, 30_000));
    assertThat(StagingModel.of(calibration, true, false)).isEmpty();
    assertThat(StagingModel.of(calibration, false, true)).isEmpty();
  }

  @Test
  void whatIsMeasuredReplacesWhatWasCalibratedBitByBit() {
    AdaptiveCostModel model = new AdaptiveCostModel(new StagingModel(0.1, 10_000, 0.2, 0));
    for (int i = 0; i < 100; i++) {
      model.hostCopied(1_000_000, 400_000);
      model.linkMoved(1_000_000, 1_010_000);
    }
    assertThat(model.model().hostNanosPerByte()).isCloseTo(0.4, within(0.001));
    assertThat(model.model().linkNanosPerByte()).isCloseTo(1, within(0.001));
    AdaptiveCostModel once = new AdaptiveCostModel(new StagingModel(0.1, 10_000, 0.2, 0));
    once.hostCopied(1_000_000, 400_000);
    assertThat(once.model().hostNanosPerByte()).as("one is an accident").isLessThan(0.14);
    once.linkMoved(1_000_000, 1_000_000_000);
    assertThat(once.model().linkNanosPerByte()).as("as is a long halt").isLessThan(0.27);
  }

  @ParameterizedTest
  @CsvSource({"0.09, 0.018, 8", "0.09, 0.09, 2", "0.05, 0.09, 1", "0.09, 0, 64"})
  void asManyThreadsCopyAsALinkCanFollow(double host, double link, int threads) {
    assertThat(new StagingModel(host, 0, link, 0).usefulThreads()).isEqualTo(threads);
  }
}

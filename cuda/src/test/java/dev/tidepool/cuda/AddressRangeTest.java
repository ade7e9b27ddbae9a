package dev.tidepool.cuda;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import java.util.OptionalLong;
import java.util.SplittableRandom;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

class AddressRangeTest {
  @Test
  void theLowestThatFitAreGivenAndNeighboursJoinAgain() {
    AddressRange range = new AddressRange(1000, 600);
    assertThat(range.claim(200, 1)).hasValue(1000);
    assertThat(range.claim(200, 1)).hasValue(1200);
    assertThat(range.claim(200, 1)).hasValue(1400);
    assertThat(range.claim(1, 1)).isEmpty();
    range.giveBack(1000, 200);
    range.giveBack(1400, 200);
    assertThat(range.claim(201, 1)).isEmpty();
    range.giveBack(1200, 200);
    assertThat(range.claim(600, 1)).hasValue(1000);
  }

  @Test
  void whatLiesBeforeAnAlignedAddressStaysFree() {
    AddressRange range = new AddressRange(1000, 1000);
    assertThat(range.claim(100, 1024)).hasValue(1024);
    assertThat(range.claim(24, 1)).hasValue(1000);
    assertThat(range.claim(876, 1)).hasValue(1124);
  }

  @Test
  void noAddressIsGivenTwice() {
    long seed = Long.getLong("tidepool.seed", System.nanoTime());
    System.out.println("AddressRangeTest: -Dtidepool.seed=" + seed);
    SplittableRandom random = new SplittableRandom(seed);
    AddressRange range = new AddressRange(1 << 20, 4096);
    TreeMap<Long, Long> taken = new TreeMap<>();
    for (int i = 0; i < 5000; i++) {
      if (random.nextBoolean() || taken.isEmpty()) {
        long bytes = random.nextInt(1, 400);
        long alignment = 1L << random.nextInt(8);
        OptionalLong claimed = range.claim(bytes, alignment);
        if (claimed.isPresent()) {
          long address = claimed.getAsLong();
          assertThat(address % alignment).isZero();
          assertThat(address).isBetween(1L << 20, (1L << 20) + 4096 - bytes);
          Map.Entry<Long, Long> before = taken.lowerEntry(address + bytes);
          assertThat(before == null || before.getKey() + before.getValue() <= address).isTrue();
          taken.put(address, bytes);
        }
      } else {
        Long address = taken.ceilingKey((1L << 20) + random.nextInt(4096));
        Map.Entry<Long, Long> freed =
            address == null ? taken.firstEntry() : taken.ceilingEntry(address);
        taken.remove(freed.getKey());
        range.giveBack(freed.getKey(), freed.getValue());
      }
    }
    taken.forEach(range::giveBack);
    assertThat(range.claim(4096, 1)).hasValue(1 << 20);
  }
}

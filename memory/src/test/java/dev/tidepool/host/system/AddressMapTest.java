package dev.tidepool.host.system;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;

class AddressMapTest {
  private static final List<String> LINES =
      """
      00010000-00020000 rw-p 00000000 00:00 0                                  [heap]
      00020000-00030000 rw-p 00000000 00:00 0
      00030000-00031000 ---p 00000000 00:00 0\s
      00031000-00040000 rw-p 00001000 fe:01 4711                               /tmp/a file
      00040000-00050000 rw-s 00000000 00:01 99                                 /dev/zero (deleted)
      00060000-00070000 rw-p 00000000 00:00 0                                  [anon: arena]
      00070000-00071000 r-xp 00000000 00:00 0                                  [vdso]
      7f0000000000-7f0000010000 rw-s 00000000 00:00 0
      ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]
      """
          .lines()
          .toList();

  private static boolean isAnonymous(long from, long to) {
    return AddressMap.isAnonymous(from, to - from, LINES);
  }

  @Test
  void privateMemoryWithoutAFileIsAnonymous() {
    assertThat(isAnonymous(0x10000, 0x20000)).isTrue();
    assertThat(isAnonymous(0x12345, 0x12346)).isTrue();
    assertThat(isAnonymous(0x60000, 0x70000)).isTrue();
  }

  @Test
  void aRangeMayCrossMappingsThatAreAllAnonymous() {
    assertThat(isAnonymous(0x1ffff, 0x31000)).isTrue();
    assertThat(isAnonymous(0x1ffff, 0x31001)).isFalse();
  }

  @Test
  void filesSharedMemoryAndTheSystemsOwnAreNot() {
    assertThat(isAnonymous(0x31000, 0x32000)).isFalse();
    assertThat(isAnonymous(0x40000, 0x41000)).isFalse();
    assertThat(isAnonymous(0x70000, 0x70001)).isFalse();
    assertThat(isAnonymous(0x7f0000000000L, 0x7f0000000001L)).isFalse();
  }

  @Test
  void whatIsNotListedIsNot() {
    assertThat(isAnonymous(0x50000, 0x50001)).isFalse();
    assertThat(isAnonymous(0x5ffff, 0x60001)).isFalse();
    assertThat(isAnonymous(0x0ffff, 0x10001)).isFalse();
    assertThat(AddressMap.isAnonymous(0x10000, 1, List.of())).isFalse();
  }
}

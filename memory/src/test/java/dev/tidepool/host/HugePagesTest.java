package dev.tidepool.host;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assumptions.abort;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.invoke.MethodHandle;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What a block says of its pages is what the system says of them. */
class HugePagesTest {
  private static final long MIB = 1 << 20;
  private static final long HUGE = 2 * MIB;
  private static final long GIANT = 1L << 30;

  private final MemoryAllocator allocator = new MemoryAllocator();

  @BeforeEach
  void onlyWhereTheSystemTells() {
    assumeTrue(ProcessMemory.isTold(), "the system does not tell of its pages (no smaps)");
  }

  @ParameterizedTest
  @ValueSource(longs = {1, MIB, HUGE, 5 * MIB + 3})
  void transparentHugePagesThatWereAskedForHoldEveryByte(long bytes) throws IOException {
    assumeTransparent();
    HostBlock block = allocator.allocate(HostRequest.of(bytes).on(PageKind.TRANSPARENT_HUGE));
    try {
      long whole = (bytes + HUGE - 1) / HUGE * HUGE;
      assertThat(block.backing())
          .isEqualTo(
              new GrantedMemory(PageKind.TRANSPARENT_HUGE, HUGE, whole, NumaPolicy.LOCAL, false));
      assertThat(block.segment().address() % HUGE).isZero();
      assertThat(block.residence().orElseThrow().residentBytes()).isZero();
      block.segment().fill((byte) 1);
      assertThat(ProcessMemory.figure(block.segment(), "Size")).isEqualTo(whole);
      assertThat(ProcessMemory.figure(block.segment(), "AnonHugePages")).isEqualTo(whole);
      PageResidency residence = block.residence().orElseThrow();
      assertThat(residence.hugeBytes()).isEqualTo(whole);
      assertThat(residence.residentBytes()).isEqualTo(whole);
      assertThat(residence.lockedBytes()).isZero();
    } finally {
      block.free();
    }
    assertThat(block.residence()).isEmpty();
  }

  @Test
  void smallPagesThatWereAskedForAreSmall() throws IOException {
    HostBlock block = allocator.allocate(HostRequest.of(8 * MIB).on(PageKind.SMALL));
    try {
      block.segment().fill((byte) 1);
      assertThat(block.backing().pages()).isEqualTo(PageKind.SMALL);
      assertThat(ProcessMemory.figure(block.segment(), "AnonHugePages")).isZero();
      assertThat(ProcessMemory.figure(block.segment(), "Rss")).isEqualTo(8 * MIB);
      assertThat(block.residence().orElseThrow().hugeBytes()).isZero();
      assertThat(block.residence().orElseThrow().residentBytes()).isEqualTo(8 * MIB);
    } finally {
      block.free();
    }
  }

  @Test
  void largeBlocksThatAskForNothingHaveTransparentHugePages() {
    assumeTransparent();
    HostBlock block = allocator.allocate(8 * MIB);
    assertThat(block.backing().pages()).isEqualTo(PageKind.TRANSPARENT_HUGE);
    assertThat(block.segment().address() % HUGE).isZero();
    block.free();
  }

  @Test
  void neighboursDoNotBlurWhatIsToldOfABlock() {
    HostRequest request = HostRequest.of(8 * MIB).on(PageKind.SMALL);
    HostBlock touched = allocator.allocate(request);
    HostBlock untouched = allocator.allocate(request);
    touched.segment().fill((byte) 1);
    assertThat(touched.residence().orElseThrow().residentBytes()).isEqualTo(8 * MIB);
    assertThat(untouched.residence().orElseThrow().residentBytes()).isZero();
    touched.free();
    untouched.free();
  }

  /** Columns: page size, pages to set aside, bytes to ask for, alignment. */
  @ParameterizedTest
  @CsvSource({
    "2097152, 4, 100, 64",
    "2097152, 4, 5242883, 4096",
    "2097152, 4, 4194304, 16777216",
    "1073741824, 1, 1073741824, 4096",
    "1073741824, 1, 1000000000, 1073741824"
  })
  void explicitHugePagesHoldEveryByteWhereTheyAreSetAside(
      long page, int pages, long bytes, long alignment) throws IOException {
    try (SetAside ignored = SetAside.pages(page, pages)) {
      long free = SetAside.free(page);
      HostBlock block =
          allocator.allocate(HostRequest.of(bytes).aligned(alignment).on(PageKind.EXPLICIT_HUGE));
      try {
        long whole = (bytes + page - 1) / page * page;
        assertThat(block.backing())
            .isEqualTo(
                new GrantedMemory(PageKind.EXPLICIT_HUGE, page, whole, NumaPolicy.LOCAL, false));
        assertThat(block.segment().byteSize()).isEqualTo(bytes);
        assertThat(block.segment().address() % Math.max(alignment, page)).isZero();
        assertThat(SetAside.free(page)).isEqualTo(free - whole / page);
        block.segment().asSlice(bytes - 100).fill((byte) 5);
        assertThat(ProcessMemory.figure(block.segment(), "KernelPageSize")).isEqualTo(page);
        assertThat(ProcessMemory.explicitHuge(block.segment())).isEqualTo(whole);
        assertThat(block.residence().orElseThrow())
            .satisfies(
                residence -> {
                  assertThat(residence.hugeBytes()).isEqualTo(whole);
                  assertThat(residence.residentBytes()).isEqualTo(whole);
                  assertThat(residence.lockedBytes()).isEqualTo(whole);
                });
        assertThat(allocator.statistics().refusedHugePages()).isZero();
      } finally {
        block.free();
      }
      // The kernel gives a page back once nothing refers to it, which may be a moment later.
      await().untilAsserted(() -> assertThat(SetAside.free(page)).isEqualTo(free));
    }
  }

  @Test
  void withTooFewExplicitHugePagesTheBlockHasSimplerOnesAndThatIsCounted() throws IOException {
    try (SetAside ignored = SetAside.pages(HUGE, 2)) {
      for (long alignment : new long[] {4096, 16 * MIB}) {
        long refused = allocator.statistics().refusedHugePages();
        HostBlock block =
            allocator.allocate(
                HostRequest.of(64 * MIB).aligned(alignment).on(PageKind.EXPLICIT_HUGE));
        block.segment().fill((byte) 1);
        assertThat(block.backing().pages()).isNotEqualTo(PageKind.EXPLICIT_HUGE);
        assertThat(block.backing().pages() == PageKind.TRANSPARENT_HUGE)
            .isEqualTo(ProcessMemory.figure(block.segment(), "AnonHugePages") > 0);
        assertThat(ProcessMemory.explicitHuge(block.segment())).isZero();
        assertThat(allocator.statistics().refusedHugePages()).isEqualTo(refused + 1);
        assertThat(SetAside.free(HUGE)).isEqualTo(2);
        block.free();
      }
    }
  }

  @Test
  void lockedBlocksOnExplicitHugePagesNeedNothingOfTheLimit() throws IOException {
    try (SetAside ignored = SetAside.pages(HUGE, 4)) {
      long locked = ProcessMemory.locked();
      PinnedBudget budget = new PinnedBudget(8 * MIB);
      HostBlock block =
          allocator
              .tryAllocateLocked(HostRequest.of(5 * MIB).on(PageKind.EXPLICIT_HUGE), budget)
              .orElseThrow();
      assertThat(block.backing())
          .isEqualTo(
              new GrantedMemory(PageKind.EXPLICIT_HUGE, HUGE, 6 * MIB, NumaPolicy.LOCAL, true));
      assertThat(budget.usedBytes()).isEqualTo(6 * MIB);
      assertThat(ProcessMemory.locked()).isEqualTo(locked);
      assertThat(block.residence().orElseThrow().lockedBytes()).isEqualTo(6 * MIB);
      block.free();
      assertThat(budget.usedBytes()).isZero();
    }
  }

  /** The program that has switched transparent huge pages off for itself. */
  static final class WithoutTransparent {
    private static final int PR_SET_THP_DISABLE = 41;

    private WithoutTransparent() {}

    public static void main(String[] arguments) throws Throwable {
      Linker linker = Linker.nativeLinker();
      MethodHandle prctl =
          linker.downcallHandle(
              linker.defaultLookup().findOrThrow("prctl"),
              FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG),
              Linker.Option.firstVariadicArg(1));
      System.out.println("prctl=" + (int) prctl.invokeExact(PR_SET_THP_DISABLE, 1L, 0L, 0L, 0L));
      MemoryAllocator allocator = new MemoryAllocator();
      HostBlock wished = allocator.allocate(HostRequest.of(4 * MIB).on(PageKind.TRANSPARENT_HUGE));
      HostBlock ordinary = allocator.allocate(4 * MIB);
      wished.segment().fill((byte) 1);
      System.out.println("wished=" + wished.backing().pages());
      System.out.println("ordinary=" + ordinary.backing().pages());
      System.out.println("kernel=" + ProcessMemory.figure(wished.segment(), "AnonHugePages"));
      System.out.println("refused=" + allocator.statistics().refusedHugePages());
    }
  }

  @Test
  void whereTransparentHugePagesAreOffABlockDoesNotClaimThem() throws Exception {
    assumeTransparent();
    assertThat(ChildProcess.run(List.of(), List.of(), WithoutTransparent.class))
        .containsEntry("prctl", "0")
        .containsEntry("wished", "SMALL")
        .containsEntry("ordinary", "SMALL")
        .containsEntry("kernel", "0")
        .containsEntry("refused", "1");
  }

  @Test
  void theModeInForceIsTheOneInBrackets() {
    assertThat(PageSizes.bracketed("always [madvise] never")).contains("madvise");
    assertThat(PageSizes.bracketed("[never]")).contains("never");
    assertThat(PageSizes.bracketed("always madvise")).isEmpty();
    assertThat(PageSizes.bracketed("]x[")).isEmpty();
  }

  @Test
  void aBlockIsRoundedUpToHugePagesOnlyWhereLittleIsWasted() {
    assertThat(PageSizes.worthRoundingUp(1, HUGE)).isTrue();
    assertThat(PageSizes.worthRoundingUp(64 * MIB, GIANT)).isFalse();
    assertThat(PageSizes.worthRoundingUp(GIANT - GIANT / 16, GIANT)).isTrue();
    assertThat(PageSizes.worthRoundingUp(GIANT + 1, GIANT)).isFalse();
    assertThat(PageSizes.worthRoundingUp(1, 512 * MIB)).isFalse();
  }

  private static void assumeTransparent() {
    String mode = PageSizes.transparentMode().orElse("never");
    assumeTrue(
        !mode.equals("never") && PageSizes.HUGE_BYTES == HUGE,
        "SKIPPED: no transparent huge pages of 2 MiB here (mode " + mode + ")");
  }

  /** Explicit huge pages beyond those that were set aside before; given up again at the end. */
  private record SetAside(Path count, long before) implements AutoCloseable {
    static SetAside pages(long size, int more) throws IOException {
      Path count = folder(size).resolve("nr_hugepages");
      if (!Files.isWritable(count)) {
        return abort("SKIPPED: only root can set huge pages of " + size + " bytes aside");
      }
      long before = number(count);
      if (before != 0) {
        return abort("SKIPPED: huge pages of " + size + " bytes are set aside and in use here");
      }
      SetAside set = new SetAside(count, before);
      Files.writeString(count, String.valueOf(before + more));
      if (number(count) != before + more) {
        set.close();
        return abort("SKIPPED: the system has no room for " + more + " huge pages of " + size);
      }
      return set;
    }

    static long free(long size) throws IOException {
      return number(folder(size).resolve("free_hugepages"));
    }

    private static Path folder(long size) {
      return Path.of("/sys/kernel/mm/hugepages/hugepages-" + size / 1024 + "kB");
    }

    private static long number(Path file) throws IOException {
      return Long.parseLong(Files.readString(file).strip());
    }

    @Override
    public void close() throws IOException {
      Files.writeString(count, String.valueOf(before));
    }
  }
}

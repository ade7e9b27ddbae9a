package dev.tidepool.host;

import java.nio.file.Path;

/** The sizes of this system's pages, which do not change while it runs. */
final class Pages {
  static final Path TRANSPARENT_HUGE = Path.of("/sys/kernel/mm/transparent_hugepage");

  /** Bytes of a page. */
  static final long BYTES = CLibrary.pageSize().orElse(4096);

  /** Bytes of a transparent huge page; 0 if there are none. */
  static final long HUGE_BYTES =
      CLibrary.LINUX ? SystemFiles.number(TRANSPARENT_HUGE.resolve("hpage_pmd_size"), 0) : 0;

  private Pages() {}
}

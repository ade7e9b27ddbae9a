package dev.tidepool.host;

import dev.tidepool.host.system.LibC;
import dev.tidepool.host.system.Platform;
import dev.tidepool.host.system.ProcFiles;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;

/** The page sizes of this system, which do not change while it runs. */
final class PageSizes {
  private static final Path TRANSPARENT_HUGE = Path.of("/sys/kernel/mm/transparent_hugepage");
  private static final Path EXPLICIT_HUGE = Path.of("/sys/kernel/mm/hugepages");
  private static final String FOLDER_START = "hugepages-";
  private static final String FOLDER_END = "kB";

  /** A requested huge page may cost this many bytes more than the request, ... */
  private static final long WASTE_ALLOWED = 2L << 20;

  /** ... or the bytes of the request divided by this. */
  private static final long WASTE_DIVISOR = 8;

  private static final boolean HAVE_HUGE =
      LibC.hasMapping() && Platform.CURRENT.hugePages().isPresent();

  static final long BYTES = LibC.pageSize().orElse(4096);

  /** The bytes of a transparent huge page, or 0 if there are none. */
  static final long HUGE_BYTES =
      HAVE_HUGE ? ProcFiles.number(TRANSPARENT_HUGE.resolve("hpage_pmd_size")) : 0;

  private PageSizes() {}

  /** Returns the next multiple of a power of two. */
  static long roundUp(long bytes, long multiple) {
    return Math.addExact(bytes, multiple - 1) & -multiple;
  }

  /** The sizes of explicit huge pages, largest first. Loaded only if needed, which is rare. */
  private static final class Explicit {
    static final List<Long> SIZES = sizes();

    private static List<Long> sizes() {
      List<Long> sizes = new ArrayList<>();
      try (DirectoryStream<Path> folders = Files.newDirectoryStream(EXPLICIT_HUGE)) {
        for (Path folder : folders) {
          String name = folder.getFileName().toString();
          if (name.startsWith(FOLDER_START) && name.endsWith(FOLDER_END)) {
            String kilobytes =
                name.substring(FOLDER_START.length(), name.length() - FOLDER_END.length());
            sizes.add(1024 * ProcFiles.parse(kilobytes, 0));
          }
        }
      } catch (IOException | SecurityException e) {
        return List.of();
      }
      sizes.sort(Comparator.reverseOrder());
      return List.copyOf(sizes);
    }
  }

  /**
   * Returns the sizes of explicit huge pages in bytes, largest first, including sizes of which no
   * pages are reserved.
   */
  static List<Long> explicitSizes() {
    return HAVE_HUGE ? Explicit.SIZES : List.of();
  }

  /** Returns the number in a file of one page size. */
  static long explicitPages(long pageBytes, String file) {
    return ProcFiles.number(
        EXPLICIT_HUGE.resolve(FOLDER_START + pageBytes / 1024 + FOLDER_END).resolve(file));
  }

  /** Returns whether a block with requested huge pages is rounded up to pages of this size. */
  static boolean worthRoundingUp(long bytes, long pageBytes) {
    long waste = roundUp(bytes, pageBytes) - bytes;
    return waste <= Math.max(WASTE_ALLOWED, bytes / WASTE_DIVISOR);
  }

  /** Returns the system's mode of transparent huge pages: always, madvise or never. */
  static Optional<String> transparentMode() {
    return ProcFiles.lines(TRANSPARENT_HUGE.resolve("enabled")).stream()
        .flatMap(line -> bracketed(line).stream())
        .findFirst();
  }

  /** Returns the current mode, from a line of all modes with the current one in brackets. */
  static Optional<String> bracketed(String line) {
    int from = line.indexOf('[');
    int to = line.indexOf(']', from + 1);
    return from >= 0 && to > from ? Optional.of(line.substring(from + 1, to)) : Optional.empty();
  }
}

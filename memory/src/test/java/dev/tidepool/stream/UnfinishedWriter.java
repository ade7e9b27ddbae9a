package dev.tidepool.stream;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** A program that writes a part of a file, says so, and waits to be ended. */
final class UnfinishedWriter {
  private UnfinishedWriter() {}

  public static void main(String[] arguments) throws Exception {
    NpyWriter writer =
        NpyWriter.create(
            Path.of(arguments[0]), NpyHeader.of(NpyType.INT8, false, List.of(1000L)), false);
    writer.write(0, MemorySegment.ofArray(new byte[500]));
    System.out.println("writing");
    Thread.sleep(Long.MAX_VALUE);
  }

  static String partialFile(Path folder) throws IOException {
    try (var files = Files.newDirectoryStream(folder, ".tidepool-*.partial")) {
      return files.iterator().next().getFileName().toString();
    }
  }
}

package dev.tidepool.runtime;

import dev.tidepool.ByteSize;
import dev.tidepool.MemoryInfo;
import dev.tidepool.OutOfDeviceMemoryException;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** What users read when memory has run out: the numbers, who holds the bytes, what was tried. */
final class Refusal {
  private static final int TAGS_NAMED = 5;

  private Refusal() {}

  static OutOfDeviceMemoryException tooLarge(
      AcceleratorMemory memory, long bytes, Pools.Kind kind, long largest) {
    return exception(
        memory,
        bytes,
        "a buffer of "
            + bytes
            + " bytes is larger than the largest that "
            + memory.accelerator().id()
            + " allows, "
            + largest
            + " bytes; split it"
            + (kind == Pools.Kind.UNIFIED
                ? ", for this device or system lacks concurrent managed access, with which UNIFIED"
                    + " buffers may be larger than the card"
                : ""));
  }

  static OutOfDeviceMemoryException exhausted(
      AcceleratorMemory memory,
      long bytes,
      List<String> tried,
      OutOfDeviceMemoryException refused) {
    return exception(
        memory,
        bytes,
        "no room for "
            + ByteSize.format(bytes)
            + " on "
            + memory.accelerator().id()
            + ": "
            + free(memory)
            + limit(memory)
            + pooled(memory)
            + ByteSize.format(memory.accounts().liveBytes())
            + " in live buffers"
            + biggestTags(memory)
            + spilled(memory)
            + (tried.isEmpty() ? "; nothing could be given back" : "; " + String.join(", ", tried))
            + ". Close buffers, "
            + (memory.spilling() == null ? "name a spill-directory, " : "")
            + "or work in smaller chunks. "
            + refused.getMessage(),
        refused);
  }

  private static OutOfDeviceMemoryException exception(
      AcceleratorMemory memory, long bytes, String message, OutOfDeviceMemoryException refused) {
    OutOfDeviceMemoryException thrown = exception(memory, bytes, message);
    thrown.initCause(refused);
    return thrown;
  }

  private static OutOfDeviceMemoryException exception(
      AcceleratorMemory memory, long bytes, String message) {
    MemoryInfo info = memory.accelerator().memory();
    return new OutOfDeviceMemoryException(
        message,
        bytes,
        info.freeBytes(),
        info.totalBytes(),
        memory.accounts().pooledBytes(),
        memory.accounts().largestIdleBytes());
  }

  private static String free(AcceleratorMemory memory) {
    MemoryInfo info = memory.accelerator().memory();
    return ByteSize.format(info.freeBytes())
        + " of "
        + ByteSize.format(info.totalBytes())
        + (info.freeIsEstimate() ? " free (estimated), " : " free, ");
  }

  private static String limit(AcceleratorMemory memory) {
    MemoryLimit limit = memory.limit();
    return limit == null
        ? ""
        : ByteSize.format(limit.usedBytes())
            + " used of the memory-limit of "
            + ByteSize.format(limit.limitBytes())
            + ", ";
  }

  private static String pooled(AcceleratorMemory memory) {
    long pooled = memory.accounts().pooledBytes();
    return ByteSize.format(pooled)
        + " pooled"
        + (pooled == 0
            ? ", "
            : " (largest block " + ByteSize.format(memory.accounts().largestIdleBytes()) + "), ");
  }

  private static String spilled(AcceleratorMemory memory) {
    return memory.spilling() == null ? "" : "; spilled " + memory.spilling();
  }

  private static String named(String tag) {
    return tag.isEmpty() ? "untagged" : "'" + tag + "'";
  }

  private static String biggestTags(AcceleratorMemory memory) {
    Map<String, Long> byTag = memory.accounts().bytesByTag();
    if (byTag.isEmpty()) {
      return "";
    }
    return byTag.entrySet().stream()
        .limit(TAGS_NAMED)
        .map(tag -> named(tag.getKey()) + " " + ByteSize.format(tag.getValue()))
        .collect(Collectors.joining(", ", " (", ")"));
  }
}

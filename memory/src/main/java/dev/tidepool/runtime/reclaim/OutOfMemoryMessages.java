package dev.tidepool.runtime.reclaim;

import dev.tidepool.ByteSize;
import dev.tidepool.MemoryInfo;
import dev.tidepool.OutOfDeviceMemoryException;
import dev.tidepool.runtime.storage.StorageContext;
import dev.tidepool.runtime.supply.MemoryLimit;
import dev.tidepool.runtime.supply.MemoryPools;
import dev.tidepool.runtime.supply.MemoryRefusedException;
import dev.tidepool.runtime.supply.ReservationLedger;
import dev.tidepool.spi.support.VisibleText;
import java.math.BigDecimal;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Creates the exceptions of failed requests for memory. Their messages have the numbers, the owners
 * of the bytes, and the steps that were tried.
 *
 * <p>Each class that frees memory describes its step by {@link MemoryRequest#tried(String)}. The
 * last sentence of a message is that of the refusal, which the allocating class writes: {@link
 * dev.tidepool.runtime.supply.MemoryRefusedException} for limits and reservations, {@link
 * dev.tidepool.host.MemoryAllocator} for the host, and the backend for a device.
 */
public final class OutOfMemoryMessages {
  private static final int TAGS_NAMED = 5;

  private final StorageContext context;
  private final MemoryPools pools;
  private final @Nullable MemoryLimit limit;
  private final ReservationLedger reservations;
  private final Supplier<Map<String, Long>> bytesByTag;

  /**
   * Creates the messages of one manager.
   *
   * @param limit the manager's limit; null for none
   * @param reservations the reservations of the device
   * @param bytesByTag returns live bytes by tag, largest first
   */
  public OutOfMemoryMessages(
      StorageContext context,
      MemoryPools pools,
      @Nullable MemoryLimit limit,
      ReservationLedger reservations,
      Supplier<Map<String, Long>> bytesByTag) {
    this.context = context;
    this.pools = pools;
    this.limit = limit;
    this.reservations = reservations;
    this.bytesByTag = bytesByTag;
  }

  OutOfDeviceMemoryException tooLarge(long bytes, MemoryPools.Kind kind, long largest) {
    return exception(
        bytes,
        "a buffer of "
            + bytes
            + " bytes is larger than the largest that "
            + context.accelerator().id()
            + " allows, "
            + largest
            + " bytes; split it"
            + (kind == MemoryPools.Kind.UNIFIED
                ? ", because this device or system has no concurrent managed access, with which"
                    + " UNIFIED buffers may be larger than the card"
                : ""));
  }

  /** Returns whether the manager's limit would refuse a request even if the manager were empty. */
  boolean isBeyondLimit(long bytes) {
    return limit != null && bytes > limit.limitBytes();
  }

  OutOfDeviceMemoryException beyondLimit(long bytes, OutOfDeviceMemoryException refused) {
    return exception(
        bytes,
        isTooLow(" is too low for ", bytes)
            + ", whatever is freed. Raise memory-limit or call limit(bytes), or work in smaller"
            + " chunks",
        refused);
  }

  OutOfDeviceMemoryException exhausted(
      long bytes, List<String> tried, OutOfDeviceMemoryException refused) {
    boolean isLimited = MemoryRefusedException.isBy(MemoryRefusedException.Source.LIMIT, refused);
    return exception(
        bytes,
        (isLimited ? isTooLow(" is reached, no room for ", bytes) + ": " : deviceIsFull(bytes))
            + holders()
            + spilled()
            + "; "
            + outcome(tried)
            + (isLimited
                ? ". Raise memory-limit or call limit(bytes), close buffers, "
                : ". Close buffers, ")
            + (context.spilling() == null ? "name a spill-directory, " : "")
            + "or work in smaller chunks. The last refusal: "
            + refused.getMessage(),
        refused);
  }

  private String deviceIsFull(long bytes) {
    return context.accelerator().id()
        + " has no room for "
        + ByteSize.format(bytes)
        + ": "
        + free();
  }

  /** Returns the text for a refusal by the limit, without the device's free memory. */
  private String isTooLow(String how, long bytes) {
    return "the memory-limit of "
        + ByteSize.format(Objects.requireNonNull(limit, "it refused").limitBytes())
        + how
        + ByteSize.format(bytes)
        + " on "
        + context.accelerator().id();
  }

  private String outcome(List<String> tried) {
    if (context.admission().isForSeveral()) {
      return "the buffers of one operation, such as the arguments of a kernel, must fit together"
          + (tried.isEmpty() ? "" : "; " + String.join(", ", tried));
    }
    return tried.isEmpty() ? "nothing could be given back" : String.join(", ", tried);
  }

  /** Returns the exception for a reservation beyond the limit or the device's memory. */
  OutOfDeviceMemoryException tooLargeToReserve(long bytes, long most) {
    return exception(
        bytes,
        "cannot reserve "
            + ByteSize.format(bytes)
            + " on "
            + context.accelerator().id()
            + (limit == null ? ", which has " : ", whose memory-limit here is ")
            + ByteSize.format(most)
            + " in all; reserve less");
  }

  /** Returns the exception for a reservation that was not granted in time. */
  OutOfDeviceMemoryException notReserved(long bytes, Duration timeout, boolean wasFirst) {
    return exception(
        bytes,
        "could not reserve "
            + ByteSize.format(bytes)
            + " on "
            + context.accelerator().id()
            + " within "
            + seconds(timeout)
            + (wasFirst ? "" : ", behind requests that wait longer")
            + ": "
            + free()
            + holders()
            + ". Close reservations and buffers, or wait longer");
  }

  private static String seconds(Duration time) {
    return BigDecimal.valueOf(time.getSeconds())
            .add(BigDecimal.valueOf(time.getNano(), 9))
            .stripTrailingZeros()
            .toPlainString()
        + " s";
  }

  /** Returns the text about the owners of the bytes in use. */
  private String holders() {
    return limit()
        + pooled()
        + ByteSize.format(context.counters().live())
        + " in live buffers"
        + biggestTags()
        + reserved();
  }

  private String reserved() {
    String holders = reservations.holders();
    return holders.isEmpty() ? "" : "; reserved: " + holders;
  }

  private OutOfDeviceMemoryException exception(
      long bytes, String message, OutOfDeviceMemoryException refused) {
    OutOfDeviceMemoryException thrown = exception(bytes, message);
    thrown.initCause(refused);
    return thrown;
  }

  private OutOfDeviceMemoryException exception(long bytes, String message) {
    MemoryInfo info = context.accelerator().memory();
    return new OutOfDeviceMemoryException(
        message,
        bytes,
        limit == null ? info.freeBytes() : Math.min(info.freeBytes(), limit.freeBytes()),
        info.totalBytes(),
        pools.idleBytes(),
        pools.largestIdleBytes());
  }

  private String free() {
    MemoryInfo info = context.accelerator().memory();
    return ByteSize.format(info.freeBytes())
        + " of "
        + ByteSize.format(info.totalBytes())
        + (info.freeIsEstimate() ? " free (estimated), " : " free, ");
  }

  private String limit() {
    return limit == null
        ? ""
        : ByteSize.format(limit.usedBytes())
            + " used of the memory-limit of "
            + ByteSize.format(limit.limitBytes())
            + ", ";
  }

  private String pooled() {
    long pooled = pools.idleBytes();
    return ByteSize.format(pooled)
        + " pooled"
        + (pooled == 0
            ? ", "
            : " (largest block " + ByteSize.format(pools.largestIdleBytes()) + "), ");
  }

  private String spilled() {
    return context.spilling() == null ? "" : "; spilled " + context.spilling();
  }

  private static String named(String tag) {
    return tag.isEmpty() ? "untagged" : "'" + VisibleText.of(tag) + "'";
  }

  private String biggestTags() {
    Map<String, Long> byTag = bytesByTag.get();
    if (byTag.isEmpty()) {
      return "";
    }
    return byTag.entrySet().stream()
        .limit(TAGS_NAMED)
        .map(tag -> named(tag.getKey()) + " " + ByteSize.format(tag.getValue()))
        .collect(Collectors.joining(", ", " (", ")"));
  }
}

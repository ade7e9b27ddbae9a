package dev.tidepool.runtime.storage;

import dev.tidepool.MapMode;
import dev.tidepool.runtime.order.ResourceAccess.Purpose;
import org.jspecify.annotations.Nullable;

/**
 * Counts what users hold of a storage, and tells what that forbids: open mappings, lendings to
 * native code, addresses that were handed out, and holds that only keep the memory.
 *
 * <p>Frees nothing and waits for nothing.
 *
 * <p><b>Locking.</b> Guarded by the storage's monitor, which each method takes.
 */
public final class HoldCounts {
  private final Object monitor;
  // Mappings that are open or requested, and those among them that write.
  private int mappings;
  private int writingMappings;
  private int openMappings;
  // Lendings that have not ended, and those among them that write.
  private int lendings;
  private int writingLendings;
  // Holds, which keep the memory after the buffer was closed.
  private int memory;
  // Holds that keep the device's copy in place, and holds that write the host's copy.
  private int device;
  private int hostWriters;
  // Whether the host's address was handed out as a raw segment, which is never closed.
  private boolean exposed;

  /** What a hold keeps besides the memory. */
  public enum Hold {
    /** Nothing. */
    HOST,
    /** The right to write the host's bytes. */
    HOST_WRITTEN,
    /** The device's copy, which stays in place. */
    DEVICE
  }

  /**
   * Creates the counts of a storage.
   *
   * @param monitor the storage's
   */
  HoldCounts(Object monitor) {
    this.monitor = monitor;
  }

  /**
   * Returns why an access conflicts with what is held; null if it does not.
   *
   * @param exclusive whether reads exclude each other
   * @return the text after the buffer's name in a message
   */
  @Nullable String conflict(Purpose purpose, boolean writes, boolean exclusive) {
    synchronized (monitor) {
      if (lendings > 0 && (writes || writingLendings > 0 || exclusive)) {
        return lent(writes, exclusive);
      }
      if (purpose.isOnDevice() && (writingMappings > 0 || (writes && mappings > 0))) {
        return " is mapped by the host for "
            + (writingMappings > 0 ? "writing" : "reading")
            + "; close the mapping before "
            + (purpose == Purpose.LEND ? "native code " : "the device ")
            + (writes ? "writes" : "reads")
            + " it";
      }
      return null;
    }
  }

  private String lent(boolean writes, boolean exclusive) {
    String holder = writingLendings > 0 ? "that writes it" : "that reads it";
    if (writingLendings == 0 && !writes) {
      holder = "and takes turns with others here";
    }
    return " is lent to native code "
        + holder
        + "; close the NativeAccess before you "
        + (writes ? "write" : "read")
        + " it"
        + (writes && writingLendings == 0 && !exclusive
            ? "; meanwhile it can be read, by asReadOnlySegment() or copyTo"
            : "");
  }

  /** Counts a requested mapping, which opens when its operation runs. */
  void mappingAsked(MapMode mode) {
    synchronized (monitor) {
      mappings++;
      writingMappings += mode.writes() ? 1 : 0;
    }
  }

  public void mappingOpened() {
    synchronized (monitor) {
      openMappings++;
    }
  }

  /** Counts the end of a mapping, or of the attempt. */
  void mappingEnded(MapMode mode, boolean opened) {
    synchronized (monitor) {
      mappings--;
      writingMappings -= mode.writes() ? 1 : 0;
      openMappings -= opened ? 1 : 0;
    }
  }

  /** Removes all mappings: none can be in use, because no handle is left. */
  void forgetMappings() {
    synchronized (monitor) {
      mappings = 0;
      writingMappings = 0;
      openMappings = 0;
    }
  }

  void lent(boolean writes) {
    synchronized (monitor) {
      lendings++;
      writingLendings += writes ? 1 : 0;
    }
  }

  public void lendingEnded(boolean writes) {
    synchronized (monitor) {
      lendings--;
      writingLendings -= writes ? 1 : 0;
    }
  }

  void hold(Hold hold) {
    change(hold, 1);
  }

  void unhold(Hold hold) {
    change(hold, -1);
  }

  private void change(Hold hold, int by) {
    synchronized (monitor) {
      memory += by;
      switch (hold) {
        case DEVICE -> device += by;
        case HOST_WRITTEN -> hostWriters += by;
        case HOST -> {}
      }
    }
  }

  /** Notes that a raw segment is handed out: from now on the host's bytes stay in place. */
  void expose() {
    synchronized (monitor) {
      exposed = true;
    }
  }

  boolean isExposed() {
    synchronized (monitor) {
      return exposed;
    }
  }

  /** Returns whether the bytes are lent to native code. */
  public boolean isLent() {
    synchronized (monitor) {
      return lendings > 0;
    }
  }

  /** Returns whether a mapping is open or requested. */
  boolean isMappingAsked() {
    synchronized (monitor) {
      return mappings > 0;
    }
  }

  /** Returns whether a thread may write the host's bytes until a mapping or a hold ends. */
  boolean isHostWritten() {
    synchronized (monitor) {
      return writingMappings > 0 || hostWriters > 0;
    }
  }

  /** Returns whether a mapping is open, which keeps the newest bytes on the host. */
  public boolean isMapped() {
    synchronized (monitor) {
      return openMappings > 0;
    }
  }

  /** Returns whether the host's bytes must stay in place. */
  public boolean keepHost() {
    synchronized (monitor) {
      return exposed || mappings > 0;
    }
  }

  /** Returns whether the device's copy must stay in place. */
  public boolean keepDevice() {
    synchronized (monitor) {
      return device > 0;
    }
  }

  /** Returns whether a mapping or a hold keeps the memory of a closed storage. */
  boolean keepMemory() {
    synchronized (monitor) {
      return mappings > 0 || memory > 0;
    }
  }
}

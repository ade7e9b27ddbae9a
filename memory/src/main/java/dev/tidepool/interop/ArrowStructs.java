package dev.tidepool.interop;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.MemorySegment;

/**
 * The memory layouts of Arrow's C data interface, and of its form for devices, on 64-bit systems.
 *
 * <pre>
 * ArrowSchema, 72 bytes: format 0, name 8, metadata 16, flags 24, n_children 32, children 40,
 *                        dictionary 48, release 56, private_data 64
 * ArrowArray, 80 bytes:  length 0, null_count 8, offset 16, n_buffers 24, n_children 32,
 *                        buffers 40, children 48, dictionary 56, release 64, private_data 72
 * ArrowDeviceArray, 128 bytes: array 0, device_id 80, device_type 88, sync_event 96,
 *                        reserved 104
 * </pre>
 *
 * A structure whose {@code release} is null was released or moved.
 */
final class ArrowStructs {
  static final int SCHEMA_BYTES = 72;
  static final int FORMAT = 0;
  static final int NAME = 8;
  static final int FLAGS = 24;
  static final int SCHEMA_RELEASE = 56;
  static final long NULLABLE = 2;

  static final int ARRAY_BYTES = 80;
  static final int LENGTH = 0;
  static final int NULL_COUNT = 8;
  static final int OFFSET = 16;
  static final int BUFFER_COUNT = 24;
  static final int CHILD_COUNT = 32;
  static final int BUFFERS = 40;
  static final int DICTIONARY = 56;
  static final int ARRAY_RELEASE = 64;
  static final int ARRAY_PRIVATE = 72;

  static final int DEVICE_ARRAY_BYTES = 128;
  static final int DEVICE_ID = 80;
  static final int DEVICE_TYPE = 88;
  static final int SYNC_EVENT = 96;

  private ArrowStructs() {}

  /** Calls the release function at an offset of a structure, unless the structure is released. */
  static void release(MemorySegment struct, int at) {
    ReleaseFunction.call(struct.get(ADDRESS, at), struct);
  }

  static boolean isReleased(MemorySegment struct, int at) {
    return struct.get(JAVA_LONG, at) == 0;
  }

  /** Returns the text at a pointer; empty if the pointer is null. */
  static String text(MemorySegment struct, int at) {
    MemorySegment text = struct.get(ADDRESS, at);
    return text.address() == 0 ? "" : text.reinterpret(Integer.MAX_VALUE).getString(0);
  }
}

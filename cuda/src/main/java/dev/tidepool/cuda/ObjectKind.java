package dev.tidepool.cuda;

import dev.tidepool.spi.support.LiveObjects;

/** The kinds of objects that the driver creates and that must be released. */
enum ObjectKind {
  CONTEXT,
  STREAM,
  EVENT,
  DEVICE_MEMORY,
  PINNED_MEMORY,
  REGISTERED_MEMORY,
  MANAGED_MEMORY,
  MEMORY_POOL,
  ADDRESS_RANGE,
  PHYSICAL_MEMORY,
  MAPPING,
  OPENED_MEMORY,
  MODULE;

  /** Counts the objects of this process. */
  static final LiveObjects<ObjectKind> LIVE = new LiveObjects<>(ObjectKind.class);
}

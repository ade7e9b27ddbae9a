package dev.tidepool.metal;

import dev.tidepool.spi.support.LiveObjects;

/** The kinds of objects that are owned and released. */
enum ObjectKind {
  DEVICE,
  BUFFER,
  QUEUE,
  COMMAND_BUFFER,
  SHARED_EVENT,
  LIBRARY,
  FUNCTION,
  PIPELINE,
  COMPILE_OPTIONS;

  /** Counts the objects of this process. */
  static final LiveObjects<ObjectKind> LIVE = new LiveObjects<>(ObjectKind.class);
}

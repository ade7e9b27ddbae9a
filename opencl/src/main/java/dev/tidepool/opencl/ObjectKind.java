package dev.tidepool.opencl;

import dev.tidepool.spi.support.LiveObjects;

/** The kinds of OpenCL's reference-counted objects, and shared virtual memory. */
enum ObjectKind {
  CONTEXT,
  QUEUE,
  MEMORY,
  SHARED_VIRTUAL_MEMORY,
  EVENT,
  PROGRAM,
  KERNEL;

  /** Counts the objects of this process. */
  static final LiveObjects<ObjectKind> LIVE = new LiveObjects<>(ObjectKind.class);
}

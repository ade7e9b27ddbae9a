package dev.tidepool.opencl;

import dev.tidepool.spi.Event;

/** Orders commands after those of another queue, and marks their end. */
final class CommandOrder {
  private CommandOrder() {}

  /**
   * Lets commands that are enqueued from now on begin only after a command of any queue has ended.
   */
  static void after(OpenClDevice device, long queue, Event event) {
    if (!(event instanceof OpenClEvent awaited)) {
      throw new IllegalArgumentException(
          "an event of another backend cannot be awaited by a queue of " + device.info().id());
    }
    // An event that is done delays nothing; a failed one would fail the commands after it.
    if (awaited.isDone()) {
      return;
    }
    if (awaited.context() == device.context() && !device.properties().runsCommandsAlone()) {
      long retained = awaited.retained();
      try {
        OpenCL.clReleaseEvent(OpenCL.clEnqueueBarrierWithWaitList(queue, retained));
        OpenCL.clFlush(queue);
      } finally {
        OpenCL.clReleaseEvent(retained);
      }
    } else {
      // Events have no meaning outside of their context, and commands that run alone must not wait
      // in the driver for those of another device. Two drivers rarely work on the same bytes at
      // once, and the awaited command is running already.
      awaited.awaitEnd();
    }
  }

  /**
   * Returns an event for the end of all commands enqueued so far. Uses a barrier, because some
   * drivers end a marker of an out-of-order queue too early.
   */
  static OpenClEvent mark(OpenClDevice device, long queue) {
    try (Submission submission = new Submission(device.context(), queue)) {
      submission.add(OpenCL.clEnqueueBarrierWithWaitList(queue));
      return submission.end();
    }
  }
}

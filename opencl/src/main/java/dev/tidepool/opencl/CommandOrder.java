package dev.tidepool.opencl;

import dev.tidepool.spi.Event;

/** How commands of one queue come after those of another, and where they end. */
final class CommandOrder {
  private CommandOrder() {}

  /** What is enqueued from now on begins when a command of any queue has ended. */
  static void after(OpenClDevice device, long queue, Event event) {
    if (!(event instanceof OpenClEvent awaited)) {
      throw new IllegalArgumentException(
          "an event of another backend cannot be awaited by a queue of " + device.info().id());
    }
    // An event that is done holds nothing up; one that failed would fail what comes after it.
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
      // Events mean nothing outside their context, and commands that run alone must not wait in the
      // driver for those of another device. Two drivers at work on the same bytes are rare, and
      // what is waited for here is under way already.
      awaited.awaitEnd();
    }
  }

  /**
   * Returns the end of everything that was enqueued until now. A barrier, since some drivers end a
   * marker of an out-of-order queue too early.
   */
  static OpenClEvent mark(OpenClDevice device, long queue) {
    try (Submission submission = new Submission(device.context(), queue)) {
      submission.add(OpenCL.clEnqueueBarrierWithWaitList(queue));
      return submission.end();
    }
  }
}

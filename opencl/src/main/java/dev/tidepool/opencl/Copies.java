package dev.tidepool.opencl;

import java.lang.foreign.MemorySegment;

/**
 * The commands that copy bytes, chosen by the kinds of source and target. All are asynchronous and
 * run in the order of the queue.
 *
 * <p>No command of OpenCL takes both a buffer object and a shared pointer, so the shared pointer is
 * wrapped in a buffer object for such a copy. A copy between two places in host memory goes through
 * a buffer object of its own.
 */
final class Copies {
  private Copies() {}

  /** Copies from the host to a block. */
  static void write(Submission submission, MemorySegment source, OpenClBlock target, long offset) {
    long bytes = source.byteSize();
    long queue = submission.queue();
    switch (target) {
      case BufferBlock buffer ->
          submission.add(OpenCL.clEnqueueWriteBuffer(queue, buffer.buffer(), offset, source));
      case SharedPointerBlock pointer ->
          submission.add(
              pointer.svm().clEnqueueSVMMemcpy(queue, pointer.bytes(offset, bytes), source));
      case PinnedBlock pinned -> betweenHostMemory(submission, source, pinned.bytes(offset, bytes));
    }
  }

  /** Copies from a block to the host. */
  static void read(Submission submission, OpenClBlock source, long offset, MemorySegment target) {
    long bytes = target.byteSize();
    long queue = submission.queue();
    switch (source) {
      case BufferBlock buffer ->
          submission.add(OpenCL.clEnqueueReadBuffer(queue, buffer.buffer(), offset, target));
      case SharedPointerBlock pointer ->
          submission.add(
              pointer.svm().clEnqueueSVMMemcpy(queue, target, pointer.bytes(offset, bytes)));
      case PinnedBlock pinned -> betweenHostMemory(submission, pinned.bytes(offset, bytes), target);
    }
  }

  /** Copies from a block to a block. */
  static void copy(
      Submission submission,
      OpenClBlock source,
      long sourceOffset,
      OpenClBlock target,
      long targetOffset,
      long bytes) {
    if (source instanceof PinnedBlock pinned) {
      write(submission, pinned.bytes(sourceOffset, bytes), target, targetOffset);
    } else if (target instanceof PinnedBlock pinned) {
      read(submission, source, sourceOffset, pinned.bytes(targetOffset, bytes));
    } else if (source instanceof SharedPointerBlock from
        && target instanceof SharedPointerBlock to) {
      submission.add(
          from.svm()
              .clEnqueueSVMMemcpy(
                  submission.queue(),
                  to.bytes(targetOffset, bytes),
                  from.bytes(sourceOffset, bytes)));
    } else {
      try (AsBuffer from = AsBuffer.of(source);
          AsBuffer to = AsBuffer.of(target)) {
        submission.add(
            OpenCL.clEnqueueCopyBuffer(
                submission.queue(), from.buffer(), to.buffer(), sourceOffset, targetOffset, bytes));
      }
    }
  }

  /** Copies from a block to the start of a buffer object. */
  static void toBuffer(
      Submission submission, OpenClBlock source, long offset, long buffer, long bytes) {
    if (source instanceof PinnedBlock pinned) {
      submission.add(
          OpenCL.clEnqueueWriteBuffer(submission.queue(), buffer, 0, pinned.bytes(offset, bytes)));
    } else {
      try (AsBuffer from = AsBuffer.of(source)) {
        submission.add(
            OpenCL.clEnqueueCopyBuffer(
                submission.queue(), from.buffer(), buffer, offset, 0, bytes));
      }
    }
  }

  /** Copies from the start of a buffer object to a block. */
  static void fromBuffer(
      Submission submission, long buffer, OpenClBlock target, long offset, long bytes) {
    if (target instanceof PinnedBlock pinned) {
      submission.add(
          OpenCL.clEnqueueReadBuffer(submission.queue(), buffer, 0, pinned.bytes(offset, bytes)));
    } else {
      try (AsBuffer to = AsBuffer.of(target)) {
        submission.add(
            OpenCL.clEnqueueCopyBuffer(submission.queue(), buffer, to.buffer(), 0, offset, bytes));
      }
    }
  }

  static void fill(Submission submission, OpenClBlock block, long offset, long bytes, byte value) {
    long queue = submission.queue();
    switch (block) {
      case BufferBlock buffer ->
          submission.add(OpenCL.clEnqueueFillBuffer(queue, buffer.buffer(), value, offset, bytes));
      case SharedPointerBlock pointer ->
          submission.add(
              pointer.svm().clEnqueueSVMMemFill(queue, pointer.bytes(offset, bytes), value));
      case PinnedBlock pinned -> {
        try (AsBuffer between = AsBuffer.fresh(submission.context(), bytes)) {
          submission.add(OpenCL.clEnqueueFillBuffer(queue, between.buffer(), value, 0, bytes));
          submission.add(
              OpenCL.clEnqueueReadBuffer(queue, between.buffer(), 0, pinned.bytes(offset, bytes)));
        }
      }
    }
  }

  private static void betweenHostMemory(
      Submission submission, MemorySegment source, MemorySegment target) {
    long queue = submission.queue();
    try (AsBuffer between = AsBuffer.fresh(submission.context(), source.byteSize())) {
      submission.add(OpenCL.clEnqueueWriteBuffer(queue, between.buffer(), 0, source));
      submission.add(OpenCL.clEnqueueReadBuffer(queue, between.buffer(), 0, target));
    }
  }
}

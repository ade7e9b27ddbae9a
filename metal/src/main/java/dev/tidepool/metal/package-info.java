/**
 * Apple's graphics processors, driven through Metal by foreign functions on the Objective-C
 * runtime.
 *
 * <p>{@link dev.tidepool.metal.ObjectiveC}, {@link dev.tidepool.metal.Foundation} and {@link
 * dev.tidepool.metal.Metal} list what is called, a method for each message; nothing above them
 * knows a selector. Objects returned by {@code new...} messages are owned and released here, and
 * counted by {@link dev.tidepool.metal.ObjectKind}. All others belong to an autorelease pool, which
 * is opened around each operation.
 *
 * <p>If memory is shared, host and device use the same block, and nothing is copied. Otherwise a
 * block is private to the device, and blits copy the bytes between it and shared memory. Each
 * command is a command buffer. Queues wait for one another by shared events. A command buffer that
 * fails does not signal its event: {@link dev.tidepool.metal.FailureWatch} does.
 */
@NullMarked
package dev.tidepool.metal;

import org.jspecify.annotations.NullMarked;

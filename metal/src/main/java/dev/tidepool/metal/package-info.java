/**
 * Apple's graphics processors, driven through Metal by foreign functions on the Objective-C
 * runtime.
 *
 * <p>{@link dev.tidepool.metal.ObjectiveC}, {@link dev.tidepool.metal.Foundation} and {@link
 * dev.tidepool.metal.Metal} list what is called, a method for each message; nothing above them
 * knows a selector. Objects that {@code new...} messages answer with are owned and released here,
 * and counted by {@link dev.tidepool.metal.ObjectKind}. All others belong to an autorelease pool,
 * which is opened around each piece of work.
 *
 * <p>Where memory is shared, a block is the host's and the device's at once, and nothing is copied.
 * Otherwise a block is private to the device, and blits between it and shared memory move the
 * bytes. Each command is a command buffer. Queues wait for one another by shared events, which a
 * command buffer that fails does not signal: {@link dev.tidepool.metal.FailureWatch} does.
 */
@NullMarked
package dev.tidepool.metal;

import org.jspecify.annotations.NullMarked;

/**
 * The top layer of the runtime: the provider behind the API, sessions, and managers.
 *
 * <p>{@code DeviceMemoryManager} is the manager of one accelerator. Its constructor creates the
 * parts, from the bottom layer up. A {@code RuntimeSession} owns devices, managers and threads, and
 * ends them.
 */
@NullMarked
package dev.tidepool.runtime.session;

import org.jspecify.annotations.NullMarked;

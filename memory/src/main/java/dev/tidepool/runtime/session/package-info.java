/**
 * The top of the runtime: the provider behind the API, sessions, and managers.
 *
 * <p>{@code DeviceMemoryManager} is the manager of one accelerator. Its constructor makes what
 * works for it, from the bottom up. A {@code RuntimeSession} owns devices, managers and threads,
 * and ends them.
 */
@NullMarked
package dev.tidepool.runtime.session;

import org.jspecify.annotations.NullMarked;

/**
 * What code that works for one manager shares: the manager's state and context, and what it has of
 * its device and its session.
 *
 * <p>Constructors hand a {@code ManagerContext} on. It makes nothing happen by itself, apart from
 * asking for operations, whose order is that of {@code dev.tidepool.runtime.order}.
 */
@NullMarked
package dev.tidepool.runtime.context;

import org.jspecify.annotations.NullMarked;

/**
 * The objects that all code of one manager shares: the manager's state and context, and its parts
 * of the device and the session.
 *
 * <p>Constructors pass a {@code ManagerContext} on. It starts nothing by itself, except that it
 * submits operations, which {@code dev.tidepool.runtime.order} orders.
 */
@NullMarked
package dev.tidepool.runtime.context;

import org.jspecify.annotations.NullMarked;

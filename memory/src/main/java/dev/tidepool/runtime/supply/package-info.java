/**
 * The supply of blocks: the pools of a manager, the chain of sources below them, and the resources
 * that a session has opened.
 *
 * <p>A source adds a limit, guard zones or a budget to the one below it.
 */
@NullMarked
package dev.tidepool.runtime.supply;

import org.jspecify.annotations.NullMarked;

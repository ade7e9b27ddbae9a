/**
 * Lists of transfers, ways between devices, and what links cost.
 *
 * <p>The engine of one manager, and the peer access and the collectives of a session.
 */
@NullMarked
package dev.tidepool.runtime.transfers;

import org.jspecify.annotations.NullMarked;

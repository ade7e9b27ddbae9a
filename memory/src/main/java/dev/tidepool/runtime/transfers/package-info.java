/**
 * Lists of transfers, links between devices, and the measured costs of links.
 *
 * <p>The package has the transfer engine of a manager, and the peer access and the collectives of a
 * session.
 */
@NullMarked
package dev.tidepool.runtime.transfers;

import org.jspecify.annotations.NullMarked;

/**
 * Transfers between arrays, segments and buffers, many at once.
 *
 * <p>{@link dev.tidepool.transfer.TransferEngine} performs lists of transfers; the other types
 * describe a transfer, the options, the progress and the outcome. {@link
 * dev.tidepool.transfer.PeerAccess} controls direct copies between accelerators. To copy one
 * buffer, use the methods of {@link dev.tidepool.UnifiedBuffer} instead.
 */
@NullMarked
package dev.tidepool.transfer;

import org.jspecify.annotations.NullMarked;

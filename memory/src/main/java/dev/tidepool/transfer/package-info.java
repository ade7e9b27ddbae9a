/**
 * Transfers between host arrays, segments, buffers and accelerators, many at once.
 *
 * <p>{@link dev.tidepool.transfer.TransferEngine} performs lists of transfers; the other types
 * describe a transfer, the options, the progress and the outcome. {@link
 * dev.tidepool.transfer.PeerAccess} answers how two accelerators exchange bytes. One buffer is
 * copied without this package, by the methods of {@link dev.tidepool.UnifiedBuffer}.
 */
@NullMarked
package dev.tidepool.transfer;

import org.jspecify.annotations.NullMarked;

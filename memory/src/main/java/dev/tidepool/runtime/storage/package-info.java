/**
 * One buffer without its handles: its bytes, the place of the newest ones, and its lifetime.
 *
 * <p>The first use of a buffer creates its {@code Storage}, except for short copies and segments,
 * which need none. {@code Coherence} keeps the copies coherent. If memory is short, {@code
 * StorageEviction} removes the copy on the device, and {@code StorageSpill} moves the bytes to a
 * file and back. {@code StorageLifetime} frees the memory at the end. Handles refer to storages.
 * Storages never refer to handles, so that unreachable handles can be detected.
 */
@NullMarked
package dev.tidepool.runtime.storage;

import org.jspecify.annotations.NullMarked;

/**
 * One buffer without its handles: its bytes, where the newest are, and its life.
 *
 * <p>A {@code Storage} is made when a buffer is first used, except for short copies and segments of
 * it, which need none; {@code Coherence} keeps its copies coherent. If memory is short, {@code
 * StorageEviction} gives up its copy on the device, and {@code StorageSpill} moves its bytes to a
 * file and back. {@code StorageLifetime} gives its memory back at the end. Handles know storages,
 * storages never know handles, so that an unreachable handle can be noticed.
 */
@NullMarked
package dev.tidepool.runtime.storage;

import org.jspecify.annotations.NullMarked;

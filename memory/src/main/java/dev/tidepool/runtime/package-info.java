/**
 * Managers, buffers and what keeps them coherent and in order. Not exported.
 *
 * <p>The nouns: a {@code Storage} is the bytes of one allocation, on the host, on the device, or on
 * both; a {@code TypedBuffer} is a user's handle on a range of it; a {@code Work} is one operation
 * in the order of the storages that it uses; an {@code AcceleratorMemory} is the manager of one
 * accelerator; a {@code RuntimeSession} is all of them. Handles know storages, storages never know
 * handles, so that an unreachable handle can be noticed ({@code Cohort}).
 */
@NullMarked
package dev.tidepool.runtime;

import org.jspecify.annotations.NullMarked;

package dev.tidepool.diagnostics;

import dev.tidepool.UnifiedMemoryManager;

/**
 * What one pass of {@link UnifiedMemoryManager#defragment()} did.
 *
 * @param movedBuffers buffers that lie elsewhere now
 * @param movedBytes bytes that were copied for that
 * @param returnedBytes bytes that went back to the driver
 */
public record Defragmentation(long movedBuffers, long movedBytes, long returnedBytes) {}

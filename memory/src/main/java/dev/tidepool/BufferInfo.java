package dev.tidepool;

import java.time.Duration;

/**
 * A live buffer, as {@link UnifiedMemoryManager#buffers()} saw it.
 *
 * @param tag who owns it; empty if nobody said
 * @param elementType what its elements are, by name
 * @param length its elements
 * @param byteSize its bytes
 * @param location where it was born
 * @param state which copies exist
 * @param age the time since it was allocated
 * @param site the place that allocated it, from level {@link DiagnosticsLevel#SITES} on; else empty
 */
public record BufferInfo(
    String tag,
    String elementType,
    long length,
    long byteSize,
    MemoryLocation location,
    BufferState state,
    Duration age,
    String site) {}

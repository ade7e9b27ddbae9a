package dev.tidepool.diagnostics;

import dev.tidepool.BufferState;
import dev.tidepool.MemoryLocation;
import dev.tidepool.UnifiedMemoryManager;
import java.time.Duration;

/**
 * A live buffer, as {@link UnifiedMemoryManager#buffers()} saw it.
 *
 * @param tag its owner; empty if none was named
 * @param elementType what its elements are, by name
 * @param length its elements
 * @param byteSize its bytes
 * @param location where it was allocated first
 * @param state which copies exist
 * @param age the time since it was allocated
 * @param site the stack that allocated it, a line for each frame from the program's first on; empty
 *     below level {@link DiagnosticsLevel#SITES}, and for allocations that are not in its sample
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

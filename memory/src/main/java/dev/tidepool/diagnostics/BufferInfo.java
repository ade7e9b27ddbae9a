package dev.tidepool.diagnostics;

import dev.tidepool.BufferState;
import dev.tidepool.MemoryLocation;
import dev.tidepool.UnifiedMemoryManager;
import java.time.Duration;

/**
 * A live buffer, as {@link UnifiedMemoryManager#buffers()} saw it.
 *
 * @param tag the tag of the buffer; empty if it has none
 * @param elementType the name of the element type
 * @param length the number of elements
 * @param byteSize the number of bytes
 * @param location where the memory was allocated first
 * @param state which copies exist
 * @param age the time since the allocation
 * @param site the stack of the allocation, a line for each frame, starting with the program's
 *     first; empty below level {@link DiagnosticsLevel#SITES}, and for allocations that are not
 *     sampled
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

/**
 * Exchange of buffers with other libraries in this process, without copies, by common C structures:
 * {@link dev.tidepool.interop.DLPack} for tensors, {@link dev.tidepool.interop.ArrowC} for columns.
 *
 * <p>A producer fills a structure, which contains a function that releases the memory. The consumer
 * calls that function once, from any thread. An export of this package holds the memory of a buffer
 * until then. An import is a buffer that calls the function after its last use, as with {@link
 * dev.tidepool.UnifiedMemoryManager#adopt adopt}.
 *
 * <p>Structures are read and written only with the {@code java.lang.foreign} API. Programs that use
 * this package need {@code --enable-native-access}, like the library.
 */
@NullMarked
package dev.tidepool.interop;

import org.jspecify.annotations.NullMarked;

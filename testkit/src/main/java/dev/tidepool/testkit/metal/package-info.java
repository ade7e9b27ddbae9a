/**
 * Apple's Metal without a Mac: C++ sources with the ABI of the Objective-C runtime, of Foundation
 * and of Metal, compiled where tests run.
 *
 * <p>Programs load it in place of the frameworks and send messages by {@code objc_msgSend}. It
 * counts references, runs command queues on its own threads, and compiles kernels with the host's
 * compiler. It is stricter than a real device: it records whatever would be a crash, a silent error
 * or a leak there.
 *
 * <p>Tables among this package's resources contain Apple's documentation of methods, functions and
 * constants: {@code selectors.txt}, {@code functions.txt} and {@code constants.txt}. The simulated
 * Metal implements all of them, and programs compare their own declarations with them.
 */
@NullMarked
package dev.tidepool.testkit.metal;

import org.jspecify.annotations.NullMarked;

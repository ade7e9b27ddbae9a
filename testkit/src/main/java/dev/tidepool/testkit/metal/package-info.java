/**
 * Apple's Metal without a Mac: C++ sources with the ABI of the Objective-C runtime, of Foundation
 * and of Metal, compiled where tests run.
 *
 * <p>Programs load it in place of the frameworks and send it messages by {@code objc_msgSend}. It
 * counts references, runs command queues on threads of their own and kernels by the host's
 * compiler, and is stricter than a real device: what would be a crash, a silent error or a leak
 * there is written down here.
 *
 * <p>What Apple documents of methods, functions and constants is in tables among this package's
 * resources: {@code selectors.txt}, {@code functions.txt} and {@code constants.txt}. The simulated
 * Metal answers all of them, and programs compare their own declarations with them.
 */
@NullMarked
package dev.tidepool.testkit.metal;

import org.jspecify.annotations.NullMarked;

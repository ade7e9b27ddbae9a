/**
 * A discrete accelerator made of host memory.
 *
 * <p>It has what a real device has and a test machine lacks: memory that the host cannot access,
 * queues that run asynchronously, and a driver whose calls are counted. It is stricter than a real
 * driver: whatever would be a crash or silent garbage there is a {@linkplain
 * dev.tidepool.testkit.simulated.SimulatedProvider#violations() violation} here, reported with the
 * place that caused it.
 */
@NullMarked
package dev.tidepool.testkit.simulated;

import org.jspecify.annotations.NullMarked;

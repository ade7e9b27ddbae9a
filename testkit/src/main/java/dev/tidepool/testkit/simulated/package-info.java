/**
 * A discrete accelerator made of host memory.
 *
 * <p>It owns what a real device has and a test machine lacks: memory that the host cannot reach,
 * queues that run behind the caller's back, a driver that is counted. And it is stricter than a
 * real driver: what would be a crash or silent garbage there is a {@linkplain
 * dev.tidepool.testkit.simulated.SimulatedProvider#violations() violation} here, with the place
 * that did it.
 */
@NullMarked
package dev.tidepool.testkit.simulated;

import org.jspecify.annotations.NullMarked;

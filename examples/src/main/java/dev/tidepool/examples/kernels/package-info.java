/**
 * Kernels that are written once, as Java methods, and run on every accelerator. Each program shows
 * one feature of kernels, and compares the results with those of plain Java.
 */
@NullMarked
package dev.tidepool.examples.kernels;

import org.jspecify.annotations.NullMarked;

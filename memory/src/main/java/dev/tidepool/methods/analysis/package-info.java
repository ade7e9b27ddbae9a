/**
 * Analyses of the trees of kernels, and transformations that keep their meaning: which values all
 * items of a group share, whether barriers are where they may be, which index checks one test in
 * front of a loop replaces, which loops are unrolled.
 */
@NullMarked
package dev.tidepool.methods.analysis;

import org.jspecify.annotations.NullMarked;

/**
 * Facts about the trees of kernels, and changes of trees that keep their meaning: which values all
 * items of a group share, whether barriers stand where they may, which index checks one test in
 * front of a loop replaces, which loops are written out.
 */
@NullMarked
package dev.tidepool.methods.analysis;

import org.jspecify.annotations.NullMarked;

/**
 * Kernels that are written as Java methods, as code for this virtual machine: a hidden class for
 * each kernel.
 *
 * <p>The loops over the items are part of the generated method, so that the compiler of the virtual
 * machine optimises them. The items of a group run on one thread. At a barrier the loop over the
 * items ends and a new one begins.
 */
@NullMarked
package dev.tidepool.methods.jvm;

import org.jspecify.annotations.NullMarked;

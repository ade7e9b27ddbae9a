package dev.tidepool.testkit.metal;

import java.lang.foreign.FunctionDescriptor;

/**
 * A method in the form in which a program declares it for {@code objc_msgSend}.
 *
 * @param owner the class or protocol, with a plus sign in front for a class method
 * @param selector the name of the message
 * @param descriptor the signature, beginning with the two arguments of every message: the object
 *     and the selector
 */
public record MetalMethod(String owner, String selector, FunctionDescriptor descriptor) {}

package dev.tidepool.testkit.metal;

import java.lang.foreign.FunctionDescriptor;

/**
 * A method as a program declares it for {@code objc_msgSend}.
 *
 * @param owner the class or protocol, with a plus sign in front for a method of the class itself
 * @param selector the name of the message
 * @param descriptor the signature with the two arguments that each message has first: the object
 *     and the selector
 */
public record MetalMethod(String owner, String selector, FunctionDescriptor descriptor) {}

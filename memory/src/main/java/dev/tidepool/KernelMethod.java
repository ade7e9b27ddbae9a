package dev.tidepool;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Marks a static method as a kernel. {@link ComputeOrchestrator#register(Class)} registers all
 * marked methods of a class; {@link KernelSource#method(Class, String)} takes public ones of public
 * classes. {@link KernelSource#method(java.lang.invoke.MethodHandles.Lookup, String)} has an
 * example, says what such a method may do, and needs no annotation.
 */
@Documented
@Target(ElementType.METHOD)
@Retention(RetentionPolicy.RUNTIME)
public @interface KernelMethod {}

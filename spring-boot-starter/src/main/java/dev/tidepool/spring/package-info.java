/**
 * Tidepool in a service of Spring Boot: its options are properties, its manager is a bean, and
 * health, metrics and an endpoint show what it does. Uses the public API of the library only.
 */
@NullMarked
package dev.tidepool.spring;

import org.jspecify.annotations.NullMarked;

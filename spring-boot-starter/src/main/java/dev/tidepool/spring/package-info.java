/**
 * Tidepool in a Spring Boot service: options are properties, the manager is a bean, and health,
 * metrics and an endpoint show its state. Uses only the public API of the library.
 */
@NullMarked
package dev.tidepool.spring;

import org.jspecify.annotations.NullMarked;

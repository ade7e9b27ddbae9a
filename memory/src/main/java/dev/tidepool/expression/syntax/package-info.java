/**
 * The text of expressions: lexer, parser, and the untyped tree.
 *
 * <p>Element types and operations are named here, too, because the text names them. This package
 * does not know arrays.
 */
@NullMarked
package dev.tidepool.expression.syntax;

import org.jspecify.annotations.NullMarked;

// Package mutate derives malformed inputs from well-formed ones, under a seed.
//
// It serves tests of parsers. A parser rejects random bytes at once, which leaves most of its
// code untested; well-formed input with a few changes gets further. The same seed and pool give
// the same mutants, so the number of a failing mutant is a complete bug report.
package mutate

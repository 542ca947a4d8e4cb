// Package mutate derives malformed inputs from well-formed ones, under a seed.
//
// It serves tests of parsers. A parser rejects random bytes at the first few, which
// leaves its depths untested; well-formed input changed in a few places gets further.
// The same seed and pool give the same mutants: the number of a failing mutant is a
// complete bug report.
package mutate

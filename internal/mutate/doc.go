// Package mutate makes malformed inputs of well-formed ones, under a seed.
//
// It serves tests of parsers: a parser that is handed random bytes refuses them by
// their first ones, and what lies behind is never reached. What was made by the
// product itself and then changed in a few places gets further. The same seed and
// pool give the same mutants, so that the number of one that fails is a complete bug
// report.
package mutate

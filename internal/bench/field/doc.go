// Package field benchmarks worldd's package field against the same effects in C with
// vector intrinsics, in plain C vectorised by gcc, and in straightforward Go.
//
// All files but this one need the build tag yardstick, cgo, gcc and Linux on amd64.
// Vector widths that the machine lacks are skipped and logged.
//
//	go -C internal/bench test -tags yardstick -run Yardstick -v ./field
//
// # Terms
//
// A variant is one way to evaluate an effect. A round runs each variant of a row once,
// in turn, so that other load on the machine slows all of them alike. A ratio compares
// two variants in the same round; the table has the median.
//
// # Invariants
//
//   - Y1: at finite points, the fused variants give the same output bits as field. They
//     do the same work, so exactness is no excuse for field to be slower.
//   - Y2: all variants add to an existing output through the same six planes, and take
//     the effects' numbers as arguments, so that no compiler folds them.
//   - Y3: a call evaluates all points as many times as requested, so that the cost of a
//     cgo call (some 50 ns) is not in the figures.
package field

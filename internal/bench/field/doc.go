// Package field is the yardstick of worldd's package field: the same effects by
// hand in C with vector intrinsics, in plain C that the compiler vectorises, and in
// straightforward Go.
//
// Everything but this comment is behind the build tag yardstick, and needs cgo,
// gcc and Linux on amd64. What the machine lacks is skipped, and says so.
//
//	go -C internal/bench test -tags yardstick -run Yardstick -v ./field
//
// # Terms
//
// A variant is one way to evaluate an effect. A round runs every variant of a row
// once, one after the other, so that a neighbour on the machine slows all of them
// alike. A ratio is of two variants in the same round; the table has its median.
//
// # Invariants
//
//   - Y1: the fused variants give every output bit that field gives, at finite
//     points. So they do the same work, and field may not be slower because it is
//     exact.
//   - Y2: all variants add to an output that is there already, through the same
//     six planes, and all take the effects' numbers as arguments: no compiler may
//     fold them.
//   - Y3: a call handles all points as often as is asked for, so that the way from
//     Go to C (some 50 ns) is not in the figures.
package field

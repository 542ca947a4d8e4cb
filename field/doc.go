// Package field evaluates vector fields that are data: an effect is a few
// lines of text, compiled once to a verified program and run over any number
// of points. The field is the sum of its effects.
//
// The idea is N. Frykholm's ("Vector fields", Bitsquid, 2012): decode an
// instruction once and execute it for a whole block of points, so that bytecode
// costs nearly nothing over native code. Temporaries live in scratch memory of
// fixed size that the caller gives, whatever the program and however many the
// points.
//
// # Text
//
// An effect is lines of the form `name = op a, b`, over vectors of four lanes:
//
//	effect explosion            # optional header
//	param strength = 50         # a number stands for four equal lanes
//	box (-5,-5,-5) (5,5,5)      # outside of it the effect is zero; or: everywhere
//	direction = sub position, (2,4,0,0)
//	lensqr = dot direction, direction
//	direction = normalize direction
//	direction = mul direction, strength
//	direction = select_lt lensqr, (25,25,25,25), direction, (0,0,0,0)
//	output = add output, direction
//
// Names that are there from the start: position (x, y, z in metres; w is 0),
// time (seconds in all lanes), the effect's parameters, and output, which can
// only be added to. A vector may be written with three numbers; its w is 0. A
// name may be given a new value. `#` begins a comment. The box is for callers
// that cull; it does not clip.
//
//	mov a           a                      min a, b       a < b ? a : b
//	add a, b        a + b                  max a, b       a > b ? a : b
//	sub a, b        a - b                  abs a          sign cleared
//	mul a, b        a * b                  neg a          sign flipped
//	div a, b        a / b                  floor a        towards -infinity
//	mad a, b, c     a*b + c, rounded once  sqrt a         IEEE
//	nmad a, b, c    c - a*b, rounded once  rsqrt a        see below
//	dot a, b        x, y and z, to all     sin a          of a in turns
//	cross a, b      x, y, z; w is 0        saturate a     min(max(a, 0), 1)
//	length a        sqrt(dot(a, a))        smooth a       a*a * (3 - 2*a)
//	normalize a     a * rsqrt(dot(a, a))   select_lt a, b, c, d   a < b ? c : d
//	                                       select_ge a, b, c, d   a >= b ? c : d
//
// # Arithmetic
//
// Results are the same bits on every machine, by definition (M1): mad and nmad
// are IEEE fused multiply-adds, everything else is rounded once and never
// fused. dot is fma(z, z', fma(y, y', x*x')). min, max and the selects compare
// as written, so that NaN and equal operands give the second. rsqrt of x is an
// integer seed with two Newton steps over max(x, 1e-12), with a relative error
// below 1e-6; so normalize of the zero vector is the zero vector. sin folds t
// to a quarter turn and takes an odd polynomial of five terms; |t| < 2^22. An
// addition to output whose sum is NaN makes it +0.
//
// # Machine
//
//	text ─► lines ─► scalar SSA (folded, shared, dead lanes gone) ─► registers ─► ops
//	                                                    bytes ─► verify ─► Program
//	points, 64 at a time ─► one op over the block ─► … ─► added to out
//
// Invariants, cited in code and tests:
//
//	M1 A program's results do not depend on the machine that it runs on.
//	M2 No program reads or writes outside the planes, the scratch and its own
//	   constants: every operand of every op is in range and was written before.
//	M3 Evaluating programs one after another is evaluating their sum.
//	M4 Scratch is at most MaxScratch floats, and nothing is allocated.
package field

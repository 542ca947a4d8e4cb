// Package field evaluates vector fields that are data. An effect (a wind, an
// explosion, the updraft of a vent) is a few lines of text, compiled once to a
// verified program and run over any number of points. A field is the sum of its
// effects.
//
// # Terms
//
// A program is a compiled effect. A plane is one number for each of many points,
// next to each other in memory; a lane is one of them, or one of the four numbers
// of a vector in the text. A register is a plane of scratch memory. A block is up
// to BlockPoints points that are worked on together. A kernel is the loop of one
// operation over a block. A uniform is a number that is the same for all points
// of a call: time, a lane of a parameter, or a literal.
//
// # Text
//
// An effect is lines of the form `name = operation a, b`, over vectors of four
// lanes (x, y, z, w):
//
//	effect explosion                  # header: all of it may be left out
//	param strength = 50               # a number stands for four equal lanes
//	box (-3,-1,-5) (7,9,5)            # where it acts; or: everywhere
//	direction = sub position, (2,4,0) # a fourth lane that is left out is 0
//	lensqr = dot direction, direction
//	direction = normalize direction
//	direction = mul direction, strength
//	direction = select_lt lensqr, 25, direction, 0
//	output = add output, direction
//
// These names are there from the start: position (metres, in the effect's own
// space; w is 0), time (seconds, in all lanes), the parameters, and output. All
// other names get their meaning from the last line above that assigns to them.
// `name.y` as an operand is that lane in all four lanes. As the target of an
// assignment it is that lane alone; the other three stay.
//
// The output can only be added to: `output = add output, a` (or sub), and with a
// product `output = mad a, b, output` (or nmad). Its w is ignored.
//
// The box tells callers where the effect can be left out. It does not clip.
//
//	mov a         a                        min a, b     a < b ? a : b
//	add a, b      a + b                    max a, b     a > b ? a : b
//	sub a, b      a - b                    abs a        the sign cleared
//	mul a, b      a * b                    neg a        the sign flipped
//	div a, b      a / b                    floor a      the next integer below
//	mad a, b, c   a*b + c, fused           sqrt a       the square root
//	nmad a, b, c  c - a*b, fused           rsqrt a      its inverse, see below
//	dot a, b      of x, y, z, to all       sin a        the sine of a turns
//	cross a, b    of x, y, z; w is 0       saturate a   min(max(a, 0), 1)
//	length a      sqrt(dot(a, a))          smooth a     s*s * (3 - 2s), s = saturate a
//	normalize a   a * rsqrt(dot(a, a))     select_lt a, b, c, d   a < b ? c : d
//	exp2 a        2 to the power of a      select_ge a, b, c, d   a >= b ? c : d
//	hash a, b, c  a number in [0, 1), the same for the same a, b and c
//
// # Products
//
// A vector times a number stays a product for as long as it is multiplied by more
// numbers, turned or switched off: the numbers are multiplied first, and the lanes
// once, at the end. That decides where is rounded, so it is part of what a text
// means; and it makes an effect cheaper, as one number is computed with instead of
// three lanes.
//
// A number is: a literal with four equal lanes, time, one lane of anything, what
// dot and length give, and what any other operation but cross gives if all that it
// is given are numbers. All else is a vector: position, parameters, cross, and a
// name that one lane was assigned to. In the following, v is a vector, and s and t
// are numbers.
//
//   - mul v, s (or s, v) is the product v·s, and mul (v·s), t is v·(s*t).
//     normalize v is the product v·rsqrt(dot(v, v)).
//   - neg (v·s) is v·(-s). cross of v·s is the cross product of v, times s.
//   - select_lt s, t, (v·f), 0 is v·(s < t ? f : 0), so is select_ge, and so is
//     select_lt s, t, 0, (v·f), if v is bounded. Then the results are equal but
//     for rounding and for -0 instead of 0. A select that keeps an infinite or NaN
//     v out keeps doing so.
//   - add output, (v·s) is mad v, s, output, and sub is nmad. mad (v·s), t, output
//     is mad v, (s*t), output.
//   - Everything else works on the lanes of a product: each is rounded to v*s.
//
// v is bounded if it is finite wherever position, time and parameters are within
// 2^30 of 0, as far as these rules tell. Lanes count together, and bounds are
// powers of 2: a literal's is the next above it, at least 1; that of saturate is 1,
// of smooth and sin 2, of rsqrt 2^20. That of add and sub is twice the larger one;
// of mul the product; of mad and nmad twice the larger of product and sum; of dot 4
// times the product, of cross twice; of length twice the operand's if dot has one;
// of min, max and select the larger; of the others the operand's. What could be
// above 2^127, and what div and sqrt give, is not bounded, nor is what is made of
// it, except by saturate and smooth.
//
// # Arithmetic
//
// It is fixed for ever, down to the bit: replays, servers and clients on
// different machines have to agree, and faster kernels must not change a result.
// Numbers are IEEE 754 float32, subnormal ones and signed zeros included.
//
//   - add, sub, mul, div and sqrt are rounded once, to nearest, and are never
//     fused. mad and nmad always are: IEEE fusedMultiplyAdd, one rounding.
//   - dot a, b is mad(a.z, b.z, mad(a.y, b.y, a.x*b.x)).
//     cross a, b has x = nmad(a.z, b.y, a.y*b.z), y = nmad(a.x, b.z, a.z*b.x),
//     z = nmad(a.y, b.x, a.x*b.y). smooth is (s*s) * nmad(s, 2, 3).
//   - min, max and the selects compare as written above: equal operands and NaN
//     give the second operand (of max(NaN, 1): 1), and the last one of a select.
//     So saturate of NaN is 0.
//   - rsqrt a: x = max(a, 1e-12), h = x*0.5023863; y has the bits 0x5f370000 -
//     (bits of x)>>1; then y = y * nmad(h, y*y, 1.5016537), and again with
//     1.5023831. The error is below 9e-7 of the result. Everything below 1e-12,
//     negative or NaN is as 1e-12, so normalize of the zero vector is the zero
//     vector, and vectors shorter than a micrometre come out shorter than 1.
//     rsqrt of infinity is infinity.
//   - sin a: q = a - ((a + 12582912) - 12582912), which takes away whole turns;
//     v = max(0, 0.25 - abs(abs q - 0.25)), w = v*v; v * the polynomial in w, by mad,
//     with the coefficients 39.53671, -76.54978, 81.601006, -41.341656, 6.283185;
//     with the sign of q. Beyond 2^22 turns, where float32 has no fractions left
//     to speak of, it is some number from -1 to 1.
//   - exp2 a: x = min(a, 128), t = x + 12582912, f = x - (t - 12582912); the polynomial
//     in f, by mad, with the coefficients 0.0013264727, 0.009671513, 0.055507336,
//     0.24022242, 0.693147, 1; then the low bits of t, shifted left by 23, are
//     added to the bits of the result, modulo 2^32. The error is below 2e-7 of the
//     result; of whole numbers there is none. From 128 on it is infinity; below
//     -126, and of NaN, +0: it is never subnormal.
//   - hash a, b, c: with u(x) the bits of max(x, -infinity) + 0, xor themselves
//     shifted right by 15, h = u(a)*0x9e3779b1 + u(b)*0x85ebca77 + u(c)*0xc2b2ae3d;
//     h = (h xor h>>16) * 0x85ebca6b; h = (h xor h>>13) * 0xc2b2ae35; h = h xor
//     h>>16, all modulo 2^32. The result is (h>>8) / 2^24. Both zeros are one
//     number to it, and so are all NaN and -infinity.
//   - At the end of an effect, what is NaN in out becomes +0. Nothing before that
//     depends on which NaN a NaN is.
//
// # Shape
//
//	text ─ parse ─► statements ─ lower ─► values ─ allocate ─► instructions ─┐
//	                over vectors          over lanes           over planes   │
//	                (products sink)       (folded, shared,                   ▼
//	                                       live ones only)     bytes ◄─► Program
//	                                                         verify
//
//	points  x x x x│x x x x│x x     for each block, for each instruction:
//	        y y y y│y y y y│y y        decode once, run its kernel over the block
//	        z z z z│z z z z│z z
//	scratch r r r r   one block of each register, used again for every block
//	out    += += +=│+= += +=│+=
//
// # Invariants
//
// Code and tests cite them.
//
//   - F1: a program's results are the same bits on every machine, and through
//     every kernel: arith.go is the definition.
//   - F2: what a point gets depends on the point, the environment and its own
//     place in out alone. Order, number and neighbours of the points are nothing
//     to it, and neither is how a call is split into several.
//   - F3: no text and no bytes make Compile, Load or Evaluate panic, touch memory
//     outside of the planes and scratch of the call, or run without bound. Every
//     Program has passed verify, or was made by the compiler (which tests verify).
//   - F4: a program only adds to out, and can't read it. Evaluating effects one
//     after another gives their sum, in that order; so does a Set.
//   - F5: evaluating allocates nothing, and needs at most MaxScratch float32s of
//     scratch whatever the program and the number of points.
//   - F6: Compile(p.String()) has the hash of p if p came from Compile, and
//     Load(p.MarshalBinary()) has it always.
//
// # Sources
//
// Niklas Frykholm, "A data-oriented, data-driven system for vector fields"
// (Bitsquid, three parts, 2012): superposition, the language, one instruction
// over many points, scratch from the caller. His chunks of thousands of points
// fall out of the first-level cache today; blocks of 64 do not.
package field

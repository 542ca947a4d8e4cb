// Package field evaluates vector fields that are data. An effect (a wind, an
// explosion, the updraft of a vent) is a few lines of text, compiled once to a
// verified program and run over any number of points. A field is the sum of its
// effects.
//
// # Terms
//
// A program is a compiled effect. A plane is an array of one number for each of many
// points; a lane is one element of it, or one of the four numbers of a vector in the
// text. A register is a plane of scratch memory. A block is up to BlockPoints points
// that are processed together. A kernel is the loop of one operation over a block. A
// uniform is a number that is the same for all points of a call: time, a lane of a
// parameter, or a literal.
//
// # Writing an effect
//
// An effect is a few lines of text, with one declaration or statement per line.
// # starts a comment.
//
//	effect explosion                      # its name; may be left out
//	param strength = 50 in 0..1000        # m/s²; a number and its range
//	param center = (0, 1, 0)              # a vector
//	box (-12, -12, -12) (12, 12, 12)      # where it acts; or: everywhere
//
//	let away = position - center
//	let fade = saturate(1 - time / 0.4)
//	output += normalize(away) * (strength * fade * falloff(length(away), 12))
//
// It is evaluated at each point separately. Its inputs are position, the point in
// metres in the effect's own space (y is up, the effect's centre is the origin);
// time, in seconds since the effect began; and its parameters. It adds to output: a
// velocity in m/s or an acceleration in m/s², as the caller interprets it. The
// output can be added to (+=) and subtracted from (-=) repeatedly, also by lane
// (output.y += 3), but not read: a field is the sum of its effects, which are
// independent of each other.
//
// Values are numbers and vectors. A vector has the lanes x, y, z and w; w is 0 unless
// it is given, and can carry a fourth number along. (x, y, z) and
// (x, y, z, w) make a vector of numbers, v.y is a lane of one. Where a number meets a
// vector it stands for four equal lanes: v + 1, min(v, 0). let names a value,
// once; there are no variables.
//
//	a + b   a - b   a * b   a / b   -a     lane by lane; * and / before + and -
//	select(a < b, this, that)              this where a < b, lane by lane; or >, <=, >=
//
// A comparison may only occur in select, and select is a function, not a branch:
// both values are always computed. Angles are in TURNS: sin(0.25) is 1, and
// an angle in radians is sin(angle / (2 * pi)).
//
//	abs(a)                 without its sign
//	floor(a)  fract(a)     the next whole number below; a - floor(a), from 0 to 1
//	sign(a)                -1, 0 or 1
//	min(a, b)  max(a, b)   the smaller, the larger
//	clamp(a, low, high)    a, but not below low and not above high
//	saturate(a)            clamp(a, 0, 1)
//	mix(a, b, t)           a at t = 0, b at t = 1, in a straight line
//	step(edge, a)          0 below the edge, 1 from it on
//	smoothstep(a, b, x)    0 at x = a, 1 at x = b, smooth at both; a may be above b
//	smooth(a)              smoothstep(0, 1, a)
//	sqrt(a)  rsqrt(a)      the square root; its inverse
//	sin(a)  cos(a)         of a turns
//	exp(a)  exp2(a)        e and 2 to the power of a
//	hash(a, b, c)          a random number in [0, 1), always the same for the same three
//	dot(v, w)              a number: x*x + y*y + z*z
//	cross(v, w)            a vector across both
//	length(v)              a number: in metres, of something in metres
//	normalize(v)           the same direction, of length 1; of (0, 0, 0) itself
//	noise(v)               a smooth random number from -1 to 1, about 0.4 off 0 in the
//	                       mean; its grain is 1: divide the position by the size wanted
//	curl_noise(v)          a smooth random vector, of length 3 in the mean, whose field neither
//	                       gathers nor spreads; the same grain
//
// All but the last six work lane by lane on vectors too. pi is 3.1415927.
//
// These functions are written in the language itself; library.field has their bodies.
//
//	falloff(r, radius)                1 at r = 0, and 0 from the radius on, smooth
//	falloff_linear(r, radius)         the same in a straight line
//	falloff_inverse_square(r, core)   1 at r = 0, 1/2 at the core, never 0
//	shell(r, middle, thickness)       1 at the middle, 0 beyond the thickness beside it
//	attack_sustain_release(t, a, s, r)  up to 1 in a seconds, 1 for s, down to 0 in r
//	pulse(t, period, share)           1 in the first share of each period, then 0
//	swell(t, period)                  a smooth wave from 0 over 1 to 0
//	level(v)                          v with y = 0
//	along(v, d)                       the part of v along d, whose length is 1
//	axis_distance(p)                  metres from the y axis
//	outward(p)  axis_outward(p)       the direction away from the middle, from the y axis
//	around(p)  around_axis(p, axis)   that round the y axis, from x to -z; round any axis
//	whirl(p, round, inward, upward)   air that turns round the y axis, at three speeds
//	vortex(p, speed, core)            air that turns like a solid within the core, and
//	                                  slower outside
//	updraft(p, radius, speed)         air that rises in a column
//	explosion(p, radius)              outward, 1 at the middle, 0 at the radius
//	shock(p, t, speed, thickness)     the front of an explosion on its way out
//	noise3(v)  curl_noise2(v)         noise of three sizes at once; of two
//
// A text can define its own functions, each an expression over its arguments alone.
// It may call functions defined before it. Uncalled functions cost nothing, and
// common subexpressions are computed once.
//
//	def ring(r, radius) = shell(r, radius, 0.2 * radius)
//
// A parameter is a number if its default is one, otherwise a vector. Each evaluation
// sets it as four lanes (Env.Params); of a number only x counts. The range is for
// callers that accept values from others (Param.Allows): Evaluate itself ignores it.
// The range of a vector applies to its x, y and z.
//
// The box tells callers where the effect can be left out. It does not clip: an
// effect should fall off to 0 within its box.
//
// # Three effects
//
// A wind that carries eddies along: the noise is sampled in a frame that moves with
// the air.
//
//	effect wind
//	param velocity = (2, 0, 1) in -100..100
//	param eddies = 0.5 in 0..20
//	everywhere
//	output += velocity + curl_noise((position - velocity * time) / 12) * eddies
//
// A fountain of air: pulses that run up a column.
//
//	effect geyser
//	param speed = 12 in 0..50
//	box (-3, 0, -3) (3, 20, 3)
//	let front = 24 * fract(time / 2)
//	let push = shell(position.y, front, 4) * falloff(axis_distance(position), 3)
//	output.y += speed * push
//
// A dust devil that wanders on a circle, comes and goes, and leans with the height.
//
//	effect dust_devil
//	param spin = 10 in -50..50
//	box (-24, 0, -24) (24, 16, 24)
//
//	def circle(turns, radius) = (radius * cos(turns), 0, radius * sin(turns))
//
//	let lean = (0.2 * position.y, 0, 0)
//	let p = position - circle(time / 20, 12) - lean
//	let strength = attack_sustain_release(time, 2, 30, 5) * falloff(position.y, 16)
//	let wall = smoothstep(8, 5, axis_distance(p))
//	output += whirl(p, spin, 2, 4) * (strength * wall)
//
// Shipped gives more of them: explosion, gust, storm_cell, updraft, whirl, wind.
// Format formats a text, Explain shows how it is compiled.
//
// # Assembly
//
// Expressions compile to an assembly language, and a text may mix both. Its lines
// are `name = operation a, b`, over vectors of four lanes:
//
//	direction = sub position, (2,4,0) # a fourth lane that is left out is 0
//	lensqr = dot direction, direction
//	direction = normalize direction
//	direction = mul direction, 50     # a number stands for four equal lanes
//	direction = select_lt lensqr, 25, direction, 0
//	output = add output, direction
//
// A name has the value of the last assignment above. `name.y` as an operand is that
// lane in all four lanes. As the target of an assignment it is that lane alone; the
// other three keep their values. The output can only be added to:
// `output = add output, a` (or sub), and with a product `output = mad a, b, output`
// (or nmad). Its w is ignored.
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
// A vector times a number stays a product while it is multiplied by more numbers,
// crossed, negated or selected: the numbers are multiplied first, and the lanes once,
// at the end. This decides where rounding happens, so it is part of the language. It
// makes effects cheaper: one number is computed with instead of three lanes.
//
// These are numbers: a literal with four equal lanes, time, a parameter whose default
// is a number, one lane of anything, the result of dot and length, and the result of
// any other operation except cross if all operands are numbers. Everything else is a
// vector: position, other parameters, cross, and a name with an assignment to one of
// its lanes. In the following, v is a vector, and s and t
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
// v is bounded if, by the following rules, it is finite wherever position, time and
// parameters are within 2^30 of 0. All lanes of a value share a bound, which is a
// power of 2: for a literal the next above it, at least 1; for saturate and hash 1,
// smooth and sin 2, rsqrt 2^20. For add and sub it is twice the larger operand's; for
// mul the product; for mad and nmad twice the larger of product and addend; for dot 4
// times the product, for cross twice; for length twice the operand's if dot has one;
// for min, max and select the larger; for the others the operand's. Bounds above
// 2^127, and the results of div, sqrt and exp2, are not bounded, nor is anything
// computed from an unbounded value, except by saturate, smooth and hash.
//
// # Arithmetic
//
// It is fixed for ever, to the bit: replays, servers and clients on different
// machines must agree, and faster kernels must not change a result.
// Numbers are IEEE 754 float32, subnormal ones and signed zeros included.
//
//   - add, sub, mul, div and sqrt are rounded once, to nearest, and are never
//     fused. mad and nmad always are: IEEE fusedMultiplyAdd, one rounding.
//   - A lane that the text says is 0 (or -0) is nothing in a sum or a product: 0*x
//     is 0, x + 0, x - 0 and mad 0, y, x are x, 0 - x is neg x, and mad 1, x, 0 is x,
//     whatever x is, infinity, NaN and -0 included. So a vector like (1,0,1) costs
//     two lanes, and adding 0 to the output does nothing. The text says what a lane
//     is by a literal, by the w of position or of cross, by computing with nothing
//     but lanes that it says (if the result is finite), and by a select of two
//     equal ones or with a condition of two.
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
//   - An expression means operations, one each, in its order: a + b is add, -a is neg,
//     a < b in a select is select_lt a, b and a > b is select_lt b, a; >= and <= are
//     select_ge likewise. But a sum with a product is one operation: a*b + c and
//     c + a*b are mad a, b, c, of two products with the left one, c - a*b is nmad,
//     and a*b - 2 is mad a, b, -2. A product is what is written as one there, and a
//     vector times a number (see Products) wherever it was computed. So is it with
//     output += a*b.
//   - clamp is min(max(a, low), high); mix is mad(t, b - a, a); step is a >= edge;
//     smoothstep is smooth((x - a) * (1 / (b - a))); sign of NaN is 0; cos a is
//     sin(a + 0.25); exp a is exp2(a * 1.442695), whose error grows with a: it is
//     below 2e-7 + 1e-7 * abs(a) of the result.
//   - noise p: by axis, c = floor p, t = p - c, and f = ((t*t)*t) * mad(t, mad(t, 6,
//     -15), 10). The corners have the hashes of c or c + 1. A mix is mad(f, b - a, a):
//     four along x, two along y, one along z; noise is mad(mix, 2, -1).
//   - curl_noise p is (c_y - b_z, a_z - c_x, b_x - a_y), of the derivatives of three
//     noises a, b and c, whose corners are moved by 1031, 2063 and 4093 along x. With
//     g = (s*s) * 60, s = t * (t - 1), by axis, that along y is g.y times the mix,
//     along z, of the differences along y of the four mixes; along z accordingly; and
//     that along x is g.x times the mix, along y and z, of the differences along x.
//   - At the end of an effect, what is NaN becomes +0 in the lanes of out that the
//     effect adds to (F7). Nothing before that depends on which NaN a NaN is.
//
// # Shape
//
//	text ─ parse ─► statements ─ lower ─► values ─ allocate ─► instructions ─┐
//	                over vectors          over lanes           over planes   │
//	                (calls written out,   (folded, shared,                   ▼
//	                 products sink)        live ones only)     bytes ◄─► Program
//	                                                         verify
//
//	points  x x x x│x x x x│x x     for each block, for each instruction:
//	        y y y y│y y y y│y y        decode once, run its kernel over the block
//	        z z z z│z z z z│z z
//	scratch r r r r   one block of each register, used again for every block
//	out    += += +=│+= += +=│+=
//
// # The fast machine
//
// On amd64 with AVX2 and FMA, or AVX-512 (F, DQ, VL), a verified program is bound
// to generated assembly when it is created. The instructions above stay what is
// stored, hashed and sent, and what runs elsewhere; both give the same bits (F1).
//
//	instructions ─ lift ─► values ─ fuse ─► steps ─ place ─► bound code
//	               (registers and loads    (super-           (handlers by address, planes
//	                gone; what no point     instructions)     and constants by offset)
//	                changes, hoisted)
//
// A handler performs one operation, or several that often occur together, over the
// 64 points of a block, without a loop. It ends with a jump to the handler of the
// next instruction (direct threading), and checks nothing: the verifier has. Uniforms
// and values computed from them alone are in a pool of constants that is filled once
// per call. With AVX-512 the output stays in registers for a block, as does one
// vector, the accumulator. Each program is bound twice: for an Origin of zero, and
// for other origins, whose subtraction is part of the first instruction if possible.
//
// A program whose planes and constants exceed MaxScratch has no bound code and is
// interpreted, which takes about 40 times as long; Program.Interpreted and Explain say so.
//
// One call of assembly takes at most about 20 µs, since it cannot be preempted. The
// environment variable WORLDD_KERNELS (go, avx2, avx512) forces a path; the build tag
// purego excludes the assembly.
//
// # Invariants
//
// Code and tests cite them.
//
//   - F1: a program's results are the same bits on every machine, and through
//     every kernel: arith.go is the definition.
//   - F2: a point's result depends only on the point, the environment and its own
//     place in out, not on the order, number or neighbours of points, nor on how
//     calls are split.
//   - F3: no text and no bytes make Compile, Load or Evaluate panic, touch memory
//     outside of the planes and scratch of the call, or run without bound. Every
//     Program has passed verify, or was made by the compiler (which tests verify).
//   - F4: a program only adds to out, and can't read it. Evaluating effects one
//     after another gives their sum, in that order; so does a Set.
//   - F5: evaluating allocates nothing, and needs at most MaxScratch float32s of
//     scratch whatever the program and the number of points.
//   - F6: Compile(p.String()) has the hash of p if p came from Compile, and
//     Load(p.MarshalBinary()) has it always.
//   - F7: a program changes only the lanes of out that its instructions add to, and
//     turns NaN into +0 there. The other lanes keep their bits, including NaN. An
//     effect adds to a lane unless the text says that all it adds there is 0; one
//     that adds nothing at all subtracts 0 from x. In a sequence of effects, each
//     changes its own lanes.
//
// # Sources
//
// Niklas Frykholm, "A data-oriented, data-driven system for vector fields"
// (Bitsquid, three parts, 2012): superposition, the language, one instruction
// over many points, scratch from the caller. His chunks of thousands of points
// exceed today's L1 caches; blocks of 64 do not. noise.go names the sources of
// noise.
package field

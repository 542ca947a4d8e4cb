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
// parameter, or a literal. A timed value depends on time and on no point: it is a float64
// until it meets a point, so that effects stay smooth for years.
//
// LANGUAGE.md is the reference of the language and of its assembly, PROGRAM.md of compiled
// programs and their arithmetic.
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
// Files are named by stage. parse_, lower_ and graph_ compile a text; lift_, fuse_ and
// bind_ generate machine code when a program is sealed; evaluate_ runs it, and
// interpret.go is the fallback.
//
// # Machine code
//
// On amd64 with AVX2 and FMA, or AVX-512 (F, DQ, VL), a verified program is bound to
// generated assembly when it is created. The portable instructions above are stored, hashed
// and sent, and run on other machines; both give the same bits (F1).
//
//	instructions ─ lift ─► values ─ fuse ─► steps ─ place ─► bound code
//	               (registers and loads    (super-           (handlers by address, planes
//	                gone; what no point     instructions)     and constants by offset)
//	                changes, hoisted)
//
// A handler performs one operation, or several that often occur together, over the 64
// points of a block, without a loop. It ends with a jump to the handler of the next
// instruction (direct threading). It checks nothing: the verifier already did. Uniforms and
// values computed from them alone are in a pool of constants that is filled once per call.
// With AVX-512 the output stays in registers for a block, as does one vector, the
// accumulator. Each program is bound twice: for an Origin of zero, and for other origins.
// The first instruction subtracts the origin if possible.
//
// A program whose planes and constants exceed MaxScratch has no bound code and is
// interpreted, which takes about 40 times as long; Program.Interpreted and Explain report
// it.
//
// One call of assembly takes at most about 20 µs, because it cannot be preempted. The
// environment variable WORLDD_KERNELS (go, avx2, avx512) forces a path; the build tag
// purego excludes the assembly.
//
// # Invariants
//
// Code and tests cite them.
//
//   - F1: a program's results are the same bits on every machine, and through
//     every kernel: arith.go is the definition.
//   - F2: a point's result depends only on the point, the environment and the value
//     that out held for the point. It does not depend on the order, number or neighbours
//     of points, or on the split of points into calls.
//   - F3: no text and no bytes make Compile, Load or Evaluate panic, touch memory
//     outside the planes and scratch of the call, or run without bound. Every
//     Program has passed verify, or comes from the compiler, whose output tests verify.
//   - F4: a program only adds to out, and can't read it. Evaluating effects one
//     after another gives their sum, in that order; so does a Set.
//   - F5: evaluation allocates nothing. It needs at most MaxScratch float32s of
//     scratch, for every program and number of points.
//   - F6: Load(p.MarshalBinary()) has the hash of p. Compile(p.String()) has it too, if p
//     came from Compile.
//   - F7: a program changes only the lanes of out that its instructions add to, and
//     turns NaN into +0 there. The other lanes keep their bits, including NaN. An
//     effect adds to a lane unless the text says that the sum there is 0 (LANGUAGE.md).
//     An effect that adds to no lane subtracts 0 from x. In a sequence of effects, each
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

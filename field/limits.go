package field

// Limits of programs. Text and bytecode may be untrusted; each limit keeps a program
// from costing more memory or time than an effect is worth. String stays within the
// same limits for any program that Compile returns.
const (
	// MaxSourceBytes bounds an effect's text: some thousand lines.
	MaxSourceBytes = 256 << 10
	// MaxLineBytes bounds a line, and thereby the quotation in an error.
	MaxLineBytes = 512
	// MaxStatements bounds the assignments in a text and the compiler's work: each
	// makes at most a few dozen values.
	MaxStatements = 2048
	// MaxNameBytes bounds a name.
	MaxNameBytes = 64
	// MaxParams bounds the parameters of an effect.
	MaxParams = 64
	// MaxDepth bounds the nesting of expressions, and MaxCalls of function calls.
	MaxDepth = 64
	MaxCalls = 32
	// MaxFunctions bounds a text's functions, and MaxArguments the values in a pair of
	// parentheses.
	MaxFunctions = 256
	MaxArguments = 16
	// MaxWork bounds the parts of all expanded function calls.
	MaxWork = 1 << 15
	// MaxLiterals bounds the distinct numbers in a program.
	MaxLiterals = 1024
	// MaxInstructions bounds a program and thereby its time per point: a few microseconds,
	// or about twenty if every instruction is a sine.
	MaxInstructions = 1024
	// MaxRegisters bounds the values alive at once. 32 planes of BlockPoints lanes are
	// 8 KiB, which fit into the L1 cache beside the points, so nothing is spilled.
	// Programs that need more recompute values, and are rejected if that does not
	// suffice.
	MaxRegisters = 32
	// BlockPoints is the number of points per instruction.
	BlockPoints = 64
	// MaxScratch bounds any program's scratch, in float32s (10 KiB), whatever the
	// number of points (F5). If planes and constants together exceed it, the program is
	// interpreted, which needs no constants.
	MaxScratch = 10 << 10 / 4
	// MaxBinaryBytes bounds the portable form.
	MaxBinaryBytes = headerBytes + MaxNameBytes + MaxParams*(1+MaxNameBytes+1+16+8) + boxBytes + 4*MaxLiterals + instructionBytes*MaxInstructions
)

// spareBlocks is the number of planes for the points and output of a block that cannot be
// processed in place: the block is partial or clipped, or has an origin to subtract.
const spareBlocks = 6

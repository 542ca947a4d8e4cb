package field

// Bounds of programs. Text and bytecode come from people and from the wire;
// each bound is what keeps a stranger's program from costing more memory or
// time than an effect is worth. A program that Compile makes is printed by
// String within the same bounds.
const (
	// MaxSourceBytes bounds the text of one effect: some thousand lines.
	MaxSourceBytes = 256 << 10
	// MaxLineBytes bounds one line of it, and so what an error message repeats.
	MaxLineBytes = 512
	// MaxStatements bounds the assignments in a text, and so the compiler's work:
	// no operation makes more than a few dozen values.
	MaxStatements = 2048
	// MaxNameBytes bounds a name.
	MaxNameBytes = 64
	// MaxParams bounds the parameters of an effect.
	MaxParams = 64
	// MaxDepth bounds how deep an expression is nested, and MaxCalls how deep
	// functions call each other.
	MaxDepth = 64
	MaxCalls = 32
	// MaxFunctions bounds the functions that a text defines, and MaxArguments what
	// is in one pair of parentheses.
	MaxFunctions = 256
	MaxArguments = 16
	// MaxWork bounds what the functions of an effect come to when every call of
	// them is written out, in parts of an expression.
	MaxWork = 1 << 15
	// MaxLiterals bounds the different numbers in a program.
	MaxLiterals = 1024
	// MaxInstructions bounds a program, and so the time that a point can take:
	// a few microseconds, and some twenty if all of them are sines.
	MaxInstructions = 1024
	// MaxRegisters bounds how many values are alive at once. 32 planes of
	// BlockPoints lanes are 8 KiB: they stay in the first-level cache beside the
	// points, so nothing is ever spilled; of a program that needs more, values are
	// computed again, and if that does not help it is refused.
	MaxRegisters = 32
	// BlockPoints is how many points one instruction handles at a time.
	BlockPoints = 64
	// MaxScratch is the most scratch that any program asks for, in float32s
	// (10 KiB), whatever the number of points (F5). A program whose planes and
	// constants do not fit into it together runs without faster kernels, which need
	// no constants.
	MaxScratch = 10 << 10 / 4
	// MaxBinaryBytes bounds the portable form.
	MaxBinaryBytes = headerBytes + MaxNameBytes + MaxParams*(1+MaxNameBytes+1+16+8) + boxBytes + 4*MaxLiterals + instructionBytes*MaxInstructions
)

// spareBlocks are planes for the points and the output of a block that can't be
// worked on where they are: an incomplete one, one that is clipped, points that an
// origin is taken from.
const spareBlocks = 6

package field

// Bounds of programs. Text and bytecode come from people and from the wire;
// each bound is what keeps them from costing more than they are worth.
const (
	// MaxSource bounds the text of one effect in bytes: several hundred lines.
	MaxSource = 64 << 10
	// MaxParams bounds the parameters of an effect.
	MaxParams = 32
	// MaxName bounds the bytes of a name.
	MaxName = 64
	// MaxOps bounds the operations of a program, and so the time that a point
	// can take: about 4 us in the slowest machine.
	MaxOps = 4096
	// MaxRegisters is how many values can be alive at once. 32 planes of 64
	// lanes are 8 KiB: they stay in the first-level cache beside the points.
	MaxRegisters = 32
	// MaxConstants bounds the different numbers in a program, parameters' lanes
	// included.
	MaxConstants = 128
	// Lanes is the number of points that one operation handles at a time.
	Lanes = 64
	// MaxScratch is the most scratch that any program needs, in floats: 10 KiB.
	MaxScratch = MaxRegisters*Lanes + tailPlanes*Lanes + MaxConstants

	// tailPlanes hold the last, incomplete block: its points and its sums.
	tailPlanes = 6
	// maxNodes bounds the compiler's work: a line makes at most 24 values.
	maxNodes = 4 * MaxOps
)

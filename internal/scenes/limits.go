package scenes

// Every bound of a world file, with the mistake or the attack that it stops.
// A world file is written by the operator, but it may have been sent to him,
// so that no file may cost unbounded memory, time or stack before it is
// refused.
const (
	// MaxFileBytes bounds what is read and parsed at all.
	MaxFileBytes = 1 << 20
	// MaxFlowNesting is how deep [ and { may nest. The YAML parser recurses
	// and keeps the path of every node, so that a megabyte of "[" would cost
	// a terabyte. The format itself needs four.
	MaxFlowNesting = 8
	// MaxBlockColumn is the last column where a block entry ("- ") or a block
	// key may begin. It bounds block nesting by indentation, for the same
	// reason as MaxFlowNesting.
	MaxBlockColumn = 40
	// MaxKeys and MaxTokens bound the YAML itself. The parser's time grows with
	// the square of the keys of a mapping: a megabyte of them took 44 s, this
	// many 0.3 s. Both hold a file that is at all other limits.
	MaxKeys   = 8192
	MaxTokens = 1 << 16
	// MaxComplaints is how many mistakes one error lists: a file of another
	// format would otherwise give a page per line.
	MaxComplaints = 20
	// MaxNameBytes bounds the names of the world, of kinds and of effects:
	// they go into logs and into the schema.
	MaxNameBytes = 64
	// MaxKinds bounds kinds; a kind's number must stay small on the wire.
	MaxKinds = 256
	// MaxEffects bounds effects: each is compiled, and each costs every step.
	MaxEffects = 64
	// MaxEffectTextBytes bounds one effect's text.
	MaxEffectTextBytes = 16 << 10
	// MaxSpawns and MaxEmitters bound the two lists.
	MaxSpawns   = 512
	MaxEmitters = 256
	// MaxEntities bounds limits.max_entities, and so the world's memory: about
	// 100 bytes an entity.
	MaxEntities = 1 << 20
	// MaxPlayers bounds limits.max_players.
	MaxPlayers = 4096
	// MaxSpawnsPerSecond bounds one emitter: a thousand is a storm, and ten
	// times that is a slip of the finger.
	MaxSpawnsPerSecond = 10000
	// MaxPulsesPerSecond and MaxPulseLifeSeconds bound an effect that appears
	// and disappears: their product is how many of it act at once.
	MaxPulsesPerSecond  = 50
	MaxPulseLifeSeconds = 10
	// MaxTickHz bounds the step rate; above it the step is shorter than the
	// operating system's timers are exact.
	MaxTickHz = 240
	// MaxBoundMetres is the far end of the range in which positions are
	// quantised for the wire.
	MaxBoundMetres = 1024
	// MaxMetresPerSecond is the same for velocities.
	MaxMetresPerSecond = 128
	// MaxLifeSeconds bounds what an emitter emits: an hour.
	MaxLifeSeconds = 3600
	// MaxBudgetBytesPerSecond bounds what one client may be sent: a gigabit.
	MaxBudgetBytesPerSecond = 1 << 27
	// MinBudgetBytesPerSecond is one datagram a second: less sends nothing.
	MinBudgetBytesPerSecond = 1200
)

package scenes

// Limits of world files, with the attack or mistake that each prevents. A world file may
// come from an untrusted source: no file may use unbounded memory, time or stack before it
// is rejected.
const (
	// MaxFileBytes bounds the file that is read and parsed.
	MaxFileBytes = 1 << 20
	// MaxFlowNesting bounds the nesting of [ and {. The YAML parser recurses and stores
	// every node's path: a megabyte of "[" would take a terabyte. The format needs four
	// levels.
	MaxFlowNesting = 8
	// MaxBlockColumn is the last column for a block entry ("- ") or a block key. It
	// bounds nesting by indentation, for the same reason.
	MaxBlockColumn = 40
	// MaxKeys and MaxTokens bound the YAML. The parser's time is quadratic in a mapping's
	// keys: a megabyte of keys took 44 s, this many take 0.3 s. A file that reaches all
	// other limits stays within both.
	MaxKeys   = 8192
	MaxTokens = 1 << 16
	// MaxComplaints bounds the mistakes in one error: a file in another format would
	// cause one per line.
	MaxComplaints = 20
	// MaxNameBytes bounds names of worlds, kinds and effects, which appear in logs and
	// the schema.
	MaxNameBytes = 64
	// MaxKinds bounds kinds; kind numbers must be short on the wire.
	MaxKinds = 256
	// MaxEffects bounds effects: each is compiled and evaluated every step.
	MaxEffects = 64
	// MaxEffectTextBytes bounds one effect's text.
	MaxEffectTextBytes = 16 << 10
	// MaxSpawns and MaxEmitters bound the two lists.
	MaxSpawns   = 512
	MaxEmitters = 256
	// MaxEntities bounds limits.max_entities and memory: about 500 bytes per entity in a
	// world, and 1.2 to 1.5 kB in a server.
	MaxEntities = 1 << 20
	// MaxPlayers bounds limits.max_players.
	MaxPlayers = 4096
	// MaxSpawnsPerSecond bounds one emitter: a thousand per second is a storm, more than
	// ten thousand a typing error.
	MaxSpawnsPerSecond = 10000
	// MaxPulsesPerSecond and MaxPulseLifeSeconds bound pulses: their product is the maximum
	// number that act at once.
	MaxPulsesPerSecond  = 50
	MaxPulseLifeSeconds = 10
	// MaxViewAgeSeconds bounds the age of a shot's view moment, and so the memory for past
	// positions.
	MaxViewAgeSeconds = 1
	// MaxTickHz bounds the step rate; beyond it, steps are shorter than timers are
	// accurate.
	MaxTickHz = 240
	// MaxBoundMetres is the limit of quantised positions on the wire.
	MaxBoundMetres = 1024
	// MaxMetresPerSecond is the limit of quantised velocities.
	MaxMetresPerSecond = 128
	// MaxLifeSeconds bounds emitted entities' lives: an hour.
	MaxLifeSeconds = 3600
	// MaxBudgetBytesPerSecond bounds one client's bandwidth: a gigabit.
	MaxBudgetBytesPerSecond = 1 << 27
	// MinBudgetBytesPerSecond is one datagram per second: less would send nothing.
	MinBudgetBytesPerSecond = 1200
)

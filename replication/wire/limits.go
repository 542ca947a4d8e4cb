package wire

// Limits of messages. Writers assert them and readers check them. limits_test.go tests
// the relations between them.
const (
	// MaxDatagram is the maximum payload of a datagram, in bytes. Browsers silently drop more
	// than 1,215. A path may carry less: MinDatagram.
	MaxDatagram = 1200

	// MinDatagram is the payload of a datagram that every path carries, in bytes. QUIC's least
	// packet has 1,200: at most 25 are its header, 16 its tag, 3 the frame's header, and 1 is
	// WebTransport's session.
	MinDatagram = 1152

	// MaxStreamMessage bounds the length of a frame (type byte and body), and so what one
	// connection can make its peer buffer. The largest message is a Structure, which the writer
	// closes far below this.
	MaxStreamMessage = 64 << 10

	// MaxClientMessage bounds a frame from a client, which holds at most a token or a command's
	// arguments. An unauthenticated client cannot make the server buffer more than this.
	MaxClientMessage = 4 << 10

	// MaxRows bounds the rows of one State datagram, and so the work it can cause: predicting a
	// row costs the same whether its bits say little or much. At 37 bits for a row, more would
	// not fit.
	MaxRows = 256

	// MaxLoad bounds the load of all rows of one State datagram (rowschema.Layout.Load), for the same
	// reason: a component takes at least one bit but must be predicted, and one that rotates
	// or follows a parent costs several times as much. A unit is about 80 ns; the limit admits
	// 256 rows of two plain components each.
	MaxLoad = 1280

	// MaxComponents is the number of component types a schema can hold: the
	// width of Row.Mask.
	MaxComponents = 32

	// MaxFieldsPerComponent bounds a component after nested structs and arrays are flattened. A
	// larger one should be split, since one bit says whether a component changed.
	MaxFieldsPerComponent = 64

	// MaxRowBytes bounds a row, its header and its exact part in their longest form, so that every
	// row fits into a datagram of MinDatagram, though without an audit, and into an Enter. Schemas
	// that could exceed it are rejected.
	MaxRowBytes = 1104

	// MaxEnterBytes bounds the full row inside an Enter record.
	MaxEnterBytes = MaxRowBytes

	// MaxSlots bounds the slot indices a server may use, and so the size of a client's map from
	// slots to cells.
	MaxSlots = 1 << 24

	// MaxKinds bounds the kind number of an Enter record.
	MaxKinds = 1 << 16

	// MaxName bounds the names of components, commands and players, in bytes.
	MaxName = 64

	// MaxToken bounds a connect token. Signed tokens with a few claims take
	// 300 to 900 bytes.
	MaxToken = 2048

	// SecretBytes is the length of a resume secret: 128 random bits.
	SecretBytes = 16

	// MaxText bounds the text in Refused, Bye, Goodbye and Result, in bytes. Writers truncate
	// longer texts.
	MaxText = 256

	// MaxUnanswered bounds a client's unanswered commands, and so what both sides keep. Commands
	// are answered in the next tick, so this is also the limit per tick.
	MaxUnanswered = 256

	// MaxCommandArgs bounds the arguments of a command.
	MaxCommandArgs = 1024

	// MaxInputs is the number of ticks' inputs in one datagram. At 60 ticks and 20 snapshots a
	// second each datagram has three new ones, so every input is sent in five datagrams. All fit
	// into MinDatagram.
	MaxInputs = 15

	// MinInputLead is the number of ticks that an input may arrive ahead of its tick where half
	// a second has fewer.
	MinInputLead = 32

	// MaxInputBytes bounds one tick's input. Sticks, angles and buttons take 10 to 20 bytes.
	MaxInputBytes = 64

	// MaxMsgpackDepth bounds the nesting of msgpack values, since decoders recurse. Our messages
	// need 2 levels, a command's arguments seldom more than 4.
	MaxMsgpackDepth = 16

	// MaxStates is the number of newest states of a row that a client must keep as baselines. At
	// 20 snapshots a second they reach back 1.5 s, beyond every playable round trip.
	MaxStates = 32

	// MaxRoom bounds the name of a room, MaxAddress the address in Refused and Goodbye.
	MaxRoom    = 64
	MaxAddress = 256

	// MaxSchemaText bounds the canonical text of a schema, which Welcome carries whole.
	MaxSchemaText = 48 << 10

	// MaxEvents and MaxCommands bound the events and commands that a schema declares.
	MaxEvents   = 256
	MaxCommands = 256

	// MaxEventBytes bounds the body of an event, and MaxAnswer a command's answer.
	MaxEventBytes = 1024
	MaxAnswer     = 1024

	// MaxTextField bounds one string or bytes field, MaxTextFields how many a schema has, and
	// MaxTexts all of one entity, which travel in its Enter.
	MaxTextField  = 1024
	MaxTextFields = MaxComponents * MaxFieldsPerComponent
	MaxTexts      = 8 << 10

	// MaxProvisionals bounds the provisional handles that one command names.
	MaxProvisionals = 16

	// MaxView bounds how many ticks before its own tick an input's view moment may lie.
	MaxView = 1<<16 - 1

	// MinBack is the least MaxBack.
	MinBack = 63

	// AuditTurns is the number of snapshots that audit each exact body once.
	AuditTurns = 32

	// MaxEffects bounds the slots of effects, and MaxPrograms the programs of a session.
	MaxEffects  = 4096
	MaxPrograms = 256

	// MaxProgram bounds a program in the portable form of package field.
	MaxProgram = 18 << 10

	// MaxEffectNumbers bounds the parameters of an effect: 64 of four numbers each.
	MaxEffectNumbers = 256
)

// MaxBack returns how many ticks before its message's tick the state of an exact row may be, and how
// long a client that simulates remembers effects: a second, and at least MinBack ticks. A client
// whose snapshots are farther apart receives all effects and entities again with each.
func MaxBack(tickHz int) uint32 { return uint32(max(tickHz, MinBack)) }

// InputLead returns how many ticks ahead of its tick an input may arrive: half a second, and at
// least MinInputLead ticks.
func InputLead(tickHz int) int { return max((tickHz+1)/2, MinInputLead) }

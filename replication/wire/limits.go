package wire

// Limits of messages. Writers assert them and readers check them. limits_test.go tests
// the relations between them.
const (
	// MaxDatagram is the maximum payload of a datagram, in bytes. Browsers silently drop more
	// than 1,215. A path may carry less: MinDatagram.
	MaxDatagram = 1200

	// MinDatagram is the payload of a datagram that every path carries, in bytes. QUIC's
	// smallest packet has 1,200 bytes, of which at most 25 are its header, 16 its tag, 3
	// the frame's header, and 1 WebTransport's session.
	MinDatagram = 1152

	// MaxStreamMessage bounds the length of a frame (type byte and body), and so the bytes
	// that one connection can make its peer buffer. The largest message is a Structure,
	// which its writer closes far below this limit.
	MaxStreamMessage = 64 << 10

	// MaxClientMessage bounds a frame from a client, which holds at most a token or a command's
	// arguments. An unauthenticated client cannot make the server buffer more than this.
	MaxClientMessage = 4 << 10

	// MaxRows bounds the rows of one State datagram, and so the work it can cause: the
	// prediction of a row costs the same however few its bits are. At 37 bits a row, more
	// would not fit.
	MaxRows = 256

	// MaxLoad bounds the load of all rows of one State datagram (rowschema.Layout.Load),
	// for the same reason: a component may take one bit but must be predicted, and a
	// component that rotates or follows a parent costs several times as much. A unit is
	// about 80 ns; the limit admits 256 rows of two plain components each.
	MaxLoad = 1280

	// MaxComponents is the number of component types a schema can hold: the
	// width of Row.Mask.
	MaxComponents = 32

	// MaxFieldsPerComponent bounds a component after nested structs and arrays are
	// flattened. Split larger components: one bit tells whether a whole component changed.
	MaxFieldsPerComponent = 64

	// MaxRowBytes bounds the longest form of a row with its header and exact part: every
	// row fits into an Enter, and into a datagram of MinDatagram without an audit. Schemas
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

	// NoStructure is Hello.Structure of a client that asks to resume and has lost its replica.
	NoStructure = 1<<32 - 1
	// SecretBytes is the length of a resume secret: 128 random bits.
	SecretBytes = 16

	// MaxText bounds the text in Refused, Bye, Goodbye and Result, in bytes. Writers truncate
	// longer texts.
	MaxText = 256

	// MaxUnanswered bounds a client's unanswered commands, and so the memory for them on
	// both sides. Commands are answered in the next tick, so this is also the limit per
	// tick.
	MaxUnanswered = 256

	// MaxCommandArgs bounds the arguments of a command.
	MaxCommandArgs = 1024

	// MaxInputs is the maximum number of inputs in one datagram. At 60 ticks and 20
	// snapshots a second each datagram has three new inputs, so every input is sent in five
	// datagrams. All inputs fit into MinDatagram.
	MaxInputs = 15

	// MinInputLead is the minimum of InputLead.
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

	// MaxRoomQuery bounds the room of a Hello: a name of MaxRoom, or a query. A room has at most MaxAttributeCount attributes,
	// whose text has MaxAttributes bytes: mode, map, level, state and four more. The other two bound a key and a value.
	MaxRoomQuery      = 256
	MaxAttributes     = 192
	MaxAttributeCount = 8
	MaxAttributeKey   = 24
	MaxAttributeValue = 48

	// MaxRoomList bounds the lines of one RoomList: 40 of the longest, some 300 of the usual rooms.
	MaxRoomList = 16 << 10

	// MaxVersion bounds the version of a game in Hello and Welcome, in bytes.
	MaxVersion = 32

	// MaxSchemaText bounds the canonical text of a schema, which Welcome carries whole.
	MaxSchemaText = 48 << 10

	// MaxEvents and MaxCommands bound the events and commands that a schema declares.
	MaxEvents   = 256
	MaxCommands = 256

	// MaxEventBytes bounds the body of an event, and MaxAnswer a command's answer.
	MaxEventBytes = 1024
	MaxAnswer     = 1024

	// MaxTextField bounds one string or bytes field, MaxTextFields the number of such
	// fields in a schema, and MaxTexts all texts of one entity, which its Enter holds.
	MaxTextField  = 1024
	MaxTextFields = MaxComponents * MaxFieldsPerComponent
	MaxTexts      = 8 << 10

	// MaxProvisionals bounds the provisional handles that one command names.
	MaxProvisionals = 16

	// MaxView bounds the ticks from an input's view moment to its own tick.
	MaxView = 1<<16 - 1

	// MinBack is the minimum of MaxBack.
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

// MaxBack returns the maximum number of ticks from the state of an exact row to its
// message's tick: a second, but at least MinBack ticks. A client that simulates remembers
// effects for as long. If its snapshots are farther apart, it receives all effects and
// entities again with each snapshot.
func MaxBack(tickHz int) uint32 { return uint32(max(tickHz, MinBack)) }

// InputLead returns the number of ticks by which an input may arrive early: half a second,
// but at least MinInputLead ticks.
func InputLead(tickHz int) int { return max((tickHz+1)/2, MinInputLead) }

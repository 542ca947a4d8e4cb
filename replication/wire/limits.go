package wire

// Bounds of everything that crosses the wire. What we write is asserted against
// them, what arrives is checked. Their relations are tested (limits_test.go).
const (
	// MaxDatagram is the payload of the largest datagram, in bytes. 1,243 fit
	// right after the handshake on raw QUIC, and browsers lose anything above
	// 1,215 silently.
	MaxDatagram = 1200

	// MaxStreamMessage bounds the length of a frame (type byte and body). It is
	// what one connection can make its peer buffer; the largest message is a
	// Structure, which the writer closes far below it.
	MaxStreamMessage = 64 << 10

	// MaxClientMessage bounds a frame from a client, which holds at most a
	// token or a command's arguments. A client that has proved nothing yet
	// can make the server hold no more than this.
	MaxClientMessage = 4 << 10

	// MaxRows bounds the rows of one State datagram, and so the work that its
	// bytes can ask of a client: to forecast a row costs the same whether its
	// bits say little or much. At 37 bits for a row, more would not fit.
	MaxRows = 256

	// MaxLoad bounds the load of all rows of one State datagram (Schema.Load), for
	// the same reason: a component is forecast, and need take no more than a bit,
	// but what turns or follows a parent takes several times as long to forecast.
	// It is about as many times 80 ns, and 256 rows of two plain components each.
	MaxLoad = 1280

	// MaxComponents is the number of component types a schema can hold: the
	// width of Row.Mask.
	MaxComponents = 32

	// MaxFieldsPerComponent bounds a component after nested structs and arrays
	// are flattened. A larger one belongs into several components, since one
	// bit says whether a component changed.
	MaxFieldsPerComponent = 64

	// MaxRowBytes bounds a row and its header in their longest form, so that
	// every row fits into a datagram of its own. The schema refuses a component
	// with which it could grow longer.
	MaxRowBytes = 1152

	// MaxEnterBytes bounds the full row inside an Enter record.
	MaxEnterBytes = MaxRowBytes

	// MaxSlots bounds the slot indices a server may use, and with them what a
	// client keeps to find the cell of a slot that it was told of.
	MaxSlots = 1 << 24

	// MaxKinds bounds the kind number of an Enter record.
	MaxKinds = 1 << 16

	// MaxName bounds the bytes of the names of components, commands, players.
	MaxName = 64

	// MaxToken bounds a connect token. Signed tokens with a few claims take
	// 300 to 900 bytes.
	MaxToken = 2048

	// SecretBytes is the length of a resume secret: 128 random bits, which nobody
	// guesses.
	SecretBytes = 16

	// MaxText bounds texts for people in Refused, Bye, Goodbye and Result. Longer ones
	// are cut when written: they end up in logs.
	MaxText = 256

	// MaxUnanswered is how many commands of a client may wait for their answers: as
	// many as it may send between two ticks, since each is answered in the next one,
	// and more than any player gives. It bounds what both sides keep.
	MaxUnanswered = 256

	// MaxCommandArgs bounds the arguments of a command.
	MaxCommandArgs = 1024

	// MaxInputs is how many ticks' inputs one datagram holds. At 60 ticks and 20
	// snapshots a second three are new in each, so that 16 are those of five
	// datagrams; of the longest inputs they still fit.
	MaxInputs = 16

	// MaxInputBytes bounds one tick's input: sticks, angles and buttons take
	// 10 to 20 bytes.
	MaxInputBytes = 64

	// MaxMsgpackDepth bounds the nesting of msgpack values. Decoders recurse;
	// ours needs 2 levels, a command's arguments seldom more than 4.
	MaxMsgpackDepth = 16

	// MaxStates is how many states of a row a client keeps at least, the newest
	// ones, for a server to name as baselines. At 20 snapshots a second they
	// reach 1.5 s back, beyond every playable round trip.
	MaxStates = 32
)

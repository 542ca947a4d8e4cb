package wire

import (
	"fmt"
	"strings"
)

// String methods format messages in one line for logs and test failures. They never
// show a token or secret, and quote text chosen by a peer.

// String shows all but the token and the secret.
func (m Hello) String() string {
	resume := ""
	if len(m.Secret) > 0 {
		resume = fmt.Sprintf("session %d from structure %d, ", m.Session, m.Structure)
	}
	return fmt.Sprintf("Hello{protocol %d, schema %016x, tables %08x, epoch %016x, %stoken of %d bytes, name %q}",
		m.Protocol, m.Schema, m.Tables, m.Epoch, resume, len(m.Token), m.Name)
}

// String shows all but the secret.
func (m Welcome) String() string {
	return fmt.Sprintf("Welcome{protocol %d, schema %016x, tables %08x, epoch %016x, generation floor %d, %d ticks/s, %d snapshots/s, max slots %d, session %d, tick %d, resumed %d}",
		m.Protocol, m.Schema, m.Tables, m.Epoch, m.GenerationFloor, m.TickHz, m.SnapshotHz, m.MaxSlots, m.Session, m.Tick, m.Resumed)
}

// String shows all fields.
func (m Refused) String() string {
	return fmt.Sprintf("Refused{%v, text %q, want %q}", m.Code, m.Text, m.Want)
}

// String shows all fields.
func (m Command) String() string {
	return fmt.Sprintf("Command{id %d, %q, target %v, args %x}", m.ID, m.Name, m.Target, m.Args)
}

// String shows all fields.
func (m Result) String() string {
	return fmt.Sprintf("Result{id %d, %v, target %v is %v, text %q}", m.ID, m.Code, m.Target, m.Verdict, m.Text)
}

// String shows all fields.
func (m Control) String() string { return fmt.Sprintf("Control{%v}", m.Entity) }

// String shows all fields.
func (m Bye) String() string { return fmt.Sprintf("Bye{%v, text %q}", m.Code, m.Text) }

// String shows all fields.
func (m Goodbye) String() string { return fmt.Sprintf("Goodbye{%v, text %q}", m.Code, m.Text) }

// String returns the name: there are no fields.
func (Pad) String() string { return "Pad{}" }

// String returns the name: there are no fields.
func (Resync) String() string { return "Resync{}" }

// String shows the record, and the length of its row: reading that takes the schema.
func (r Record) String() string {
	switch r.Op {
	case OpEnter:
		return fmt.Sprintf("%v %v kind %d, row of %d bytes", r.Op, r.Handle, r.Kind, len(r.Row))
	case OpLeave, OpDestroy:
		return fmt.Sprintf("%v %v, %v", r.Op, r.Handle, r.Reason)
	}
	return fmt.Sprintf("%v %v", r.Op, r.Handle)
}

// String shows every record with its number.
func (m Structure) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Structure{tick %d", m.Tick)
	number := m.First
	for r := range m.Records() {
		fmt.Fprintf(&b, "; %d: %v", number, r)
		number++
	}
	return b.String() + "}"
}

// String shows all fields.
func (h StateHeader) String() string {
	return fmt.Sprintf("State{seq %d, tick %d, structure %d, echo %d held %d/10 ms, fold %04x, %d rows}",
		h.Seq, h.Tick, h.Structure, h.Echo, h.Hold, h.Fold, h.Rows)
}

// String shows the newest snapshot, the mask and the structure number.
func (a Ack) String() string {
	if !a.Seen {
		return fmt.Sprintf("no snapshot, structure %d", a.Structure)
	}
	return fmt.Sprintf("snapshot %d and %016x, structure %d", a.Newest, a.Mask, a.Structure)
}

// String shows the acknowledgement and every tick's input.
func (in *Input) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Input{stamp %d, applied %v", in.Stamp, in.Ack)
	for _, t := range in.Inputs {
		fmt.Fprintf(&b, "; tick %d: %x", t.Tick, t.Data)
	}
	return b.String() + "}"
}

// Describe formats a stream message of either direction, or says why it is malformed. It
// is for debuggers and test messages; secrets are left out.
func Describe(kind byte, body []byte) string {
	m, err := parseAny(kind, body)
	if err != nil {
		return fmt.Sprintf("type %d, %d bytes: %v", kind, len(body), err)
	}
	return m.String()
}

func parseAny(kind byte, body []byte) (fmt.Stringer, error) {
	switch kind {
	case TypeHello:
		return stringer(ParseHello(body))
	case TypeCommand:
		return stringer(ParseCommand(body))
	case TypeBye:
		return stringer(ParseBye(body))
	case TypePad:
		return stringer(ParsePad(body))
	case TypeResync:
		return stringer(ParseResync(body))
	case TypeWelcome:
		return stringer(ParseWelcome(body))
	case TypeRefused:
		return stringer(ParseRefused(body))
	case TypeStructure:
		return stringer(ParseStructure(body))
	case TypeResult:
		return stringer(ParseResult(body))
	case TypeControl:
		return stringer(ParseControl(body))
	case TypeGoodbye:
		return stringer(ParseGoodbye(body))
	}
	return nil, bad("no message type %d", kind)
}

func stringer[M fmt.Stringer](m M, err error) (fmt.Stringer, error) { return m, err }

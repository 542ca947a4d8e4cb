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
	return fmt.Sprintf("Hello{protocol %d, schema %016x, tables %08x, epoch %016x, %stoken of %d bytes, name %q, room %q, abilities %b, version %q, minimum server %q}",
		m.Protocol, m.Schema, m.Tables, m.Epoch, resume, len(m.Token), m.Name, m.Room, m.Abilities, m.Version, m.MinServer)
}

// String shows all but the secret.
func (m Welcome) String() string {
	return fmt.Sprintf("Welcome{protocol %d, schema %016x, tables %08x, epoch %016x, generations %d to %d, %d ticks/s, %d snapshots/s, max slots %d, session %d, tick %d, resumed %d, room %q, simulate %d, %d commands, structure %d, version %q, schema text of %d bytes}",
		m.Protocol, m.Schema, m.Tables, m.Epoch, m.GenerationFloor, m.GenerationCeiling, m.TickHz, m.SnapshotHz, m.MaxSlots, m.Session, m.Tick, m.Resumed, m.Room, m.Simulate, m.Commands, m.Structure, m.Version, len(m.SchemaText))
}

// String shows all but the token.
func (m Refused) String() string {
	return fmt.Sprintf("Refused{%v, text %q, want %q, address %q}", m.Code, m.Text, m.Want, m.Address)
}

// String shows all fields.
func (m Command) String() string {
	return fmt.Sprintf("Command{id %d, %q, target %v, args %x, %d provisional handles from %d, view %d}", m.ID, m.Name, m.Target, m.Args, m.Provisionals, m.FirstProvisional, m.View)
}

// String shows all fields.
func (m Result) String() string {
	return fmt.Sprintf("Result{id %d, %v, target %v is %v, text %q, answer %x}", m.ID, m.Code, m.Target, m.Verdict, m.Text, m.Answer)
}

// String shows all fields.
func (m Control) String() string { return fmt.Sprintf("Control{%v}", m.Entity) }

// String shows all fields.
func (m Bye) String() string { return fmt.Sprintf("Bye{%v, text %q}", m.Code, m.Text) }

// String shows all but the token.
func (m Goodbye) String() string {
	return fmt.Sprintf("Goodbye{%v, text %q, address %q}", m.Code, m.Text, m.Address)
}

// String returns the name; the message has no fields.
func (Pad) String() string { return "Pad{}" }

// String returns the name; the message has no fields.
func (Resync) String() string { return "Resync{}" }

// String returns the name; the message has no fields.
func (Arrived) String() string { return "Arrived{}" }

// String shows all fields.
func (m ListRooms) String() string {
	return fmt.Sprintf("ListRooms{query %q, after %q}", m.Query, m.After)
}

// String shows the lines.
func (m RoomList) String() string { return fmt.Sprintf("RoomList{%q, more %d}", m.Rooms, m.More) }

// String shows the record, with lengths in place of the parts that only the schema can
// read.
func (r Record) String() string {
	switch r.Op {
	case OpEnter:
		owned := ""
		if r.Owned {
			owned = " owned,"
		}
		return fmt.Sprintf("enter %v,%s kind %d, row of %d bytes,%v texts of %d", r.Handle, owned, r.Kind, len(r.Row), r.Exact, len(r.Data))
	case OpLeave:
		return fmt.Sprintf("leave %v, %v", r.Handle, r.Reason)
	case OpDestroy:
		return fmt.Sprintf("destroy %v, cause %d", r.Handle, r.Cause)
	case OpText:
		return fmt.Sprintf("text %d of %v, %d bytes", r.Number, r.Handle, len(r.Data))
	case OpEvent:
		return fmt.Sprintf("event %d, %d bytes", r.Number, len(r.Data))
	case OpAnswer:
		return fmt.Sprintf("answer to provisional handle %d: %v", r.Number, r.Handle)
	case OpExtension:
		return r.describeExtension()
	}
	return r.Op.String()
}

// String shows the form and the age, and nothing of an ordinary row.
func (e Exact) String() string {
	if e.Form == Ordinary {
		return ""
	}
	form := fmt.Sprintf("form %d", e.Form)
	if names := [...]string{OnGrid: "on grid", OnGridAsleep: "on grid, asleep", Raw: "raw", RawAsleep: "raw, asleep"}; int(e.Form) < len(names) {
		form = names[e.Form]
	}
	return fmt.Sprintf(" exact (%s) %d ticks before,", form, e.Back)
}

func (r Record) describeExtension() string {
	switch Extension(r.Number) {
	case ExtendProgram:
		p := r.Program()
		return fmt.Sprintf("program %d of %d bytes", p.Number, len(p.Code))
	case ExtendEffectAdded:
		return fmt.Sprintf("effect added: %+v", r.EffectAdded())
	case ExtendEffectChanged:
		return fmt.Sprintf("effect changed: %+v", r.EffectChanged())
	case ExtendEffectEnded, ExtendEffectLeft:
		return fmt.Sprintf("effect ended: %+v", r.EffectEnded())
	case ExtendKind:
		return fmt.Sprintf("kind added: %+v", r.KindAdded())
	}
	return fmt.Sprintf("extension %d", r.Number)
}

// String shows every record with its number.
func (m Structure) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Structure{%d ticks later", m.Ticks)
	number := m.First
	for r := range m.Records() {
		fmt.Fprintf(&b, "; %d: %v", number, r)
		number++
	}
	return b.String() + "}"
}

// String shows all fields.
func (h StateHeader) String() string {
	return fmt.Sprintf("State{seq %d, tick %d, structure %d, echo %d held %d/10 ms, input age %d, fold %04x, flags %d, audit %08x, events of %d bytes, teleports of %d bytes, %d rows}",
		h.Seq, h.Tick, h.Structure, h.Echo, h.Hold, h.InputAge, h.Fold, h.flags(), h.Audit, len(h.Events), len(h.Teleports), h.Rows)
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
		if t.Back > 0 {
			fmt.Fprintf(&b, " seen %d ticks before + %d/256", t.Back, t.Fraction)
		}
	}
	return b.String() + "}"
}

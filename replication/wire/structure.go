package wire

import (
	"fmt"
	"iter"
	"math"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/invariants"
)

// Op is the operation of a structure record.
type Op uint8

// Ops, as numbered on the wire.
const (
	OpEnter   Op = 1 // the entity comes into view, with its full state
	OpLeave   Op = 2 // the entity left the view and may still exist
	OpDestroy Op = 3 // the entity was destroyed; also sent for entities out of view
	OpText    Op = 4 // a string or bytes field of an entity in view changed
	OpEvent   Op = 5 // an event that the schema declares
	OpAnswer  Op = 6 // a provisional handle became an entity's or was rejected (H7)

	// OpExtension carries programs, effects and kinds that move the bodies in view
	// (Extension). For clients that simulate only.
	OpExtension Op = 7
)

// String returns the op's name in lower case, like "enter".
func (o Op) String() string {
	if names := [...]string{OpEnter: "enter", OpLeave: "leave", OpDestroy: "destroy", OpText: "text", OpEvent: "event", OpAnswer: "answer", OpExtension: "extension"}; o >= OpEnter && int(o) < len(names) {
		return names[o]
	}
	return fmt.Sprintf("op(%d)", uint8(o))
}

// Record is one record of the reliable structure stream.
type Record struct {
	Op     Op
	Owned  bool        // OpEnter: the viewer owns the entity, so its rows have the owner fields
	Reason Reason      // OpLeave
	Cause  uint8       // OpDestroy: the game's reason, 0 for none
	Exact  Exact       // OpEnter: form of a body's exact state in the row
	Handle bulk.Handle // the entity; OpAnswer: 0 if the provisional handle was rejected; OpEvent: 0
	Kind   uint32      // OpEnter: the number of the entity's kind
	Number uint32      // OpText: the schema's text field; OpEvent: the schema's event; OpAnswer: the index of the provisional handle; OpExtension: its kind
	Row    []byte      // OpEnter: output of rowschema.Layout.AppendFull, then of AppendBody
	Data   []byte      // OpEnter: the text fields, or empty; OpText: the value; OpEvent: the body; OpExtension: its content
}

// A record begins with a byte: the op in the low opBits bits, a detail in the others.
const (
	opBits    = 3
	maxDetail = 1<<(8-opBits) - 1

	detailOwned = 1 // OpEnter
	detailTexts = 2 // OpEnter: text fields follow
	detailExact = 4 // OpEnter: the row gives an exact state, and the state's form follows the kind
	detailCause = 1 // OpDestroy: the game's reason follows
	detailMade  = 1 // OpAnswer: the entity's handle follows
)

// names reports whether records of op concern the entity named by Handle.
func (o Op) names() bool { return o <= OpText }

// check validates a record, for both directions.
func (r Record) check() error {
	h := r.Handle
	if (r.Op.names() || h != 0) && (!h.Valid() || h.Index() >= MaxSlots) {
		return bad("%v of slot %d, generation %d: not the handle of an entity", r.Op, h.Index(), h.Generation())
	}
	return nil
}

// AppendStructureHeader begins the body of a Structure message. first is the number of its
// first record, counted from 1 over the session. ticks is the tick of the states in its
// Enter records, minus the tick of the session's previous message. Records follow.
func AppendStructureHeader(b []byte, first, ticks uint32) []byte {
	return bitio.AppendUvarint(bitio.AppendUvarint(b, first), ticks)
}

// AppendRecord appends one record.
func AppendRecord(b []byte, r Record) []byte {
	if invariants.Enabled {
		invariants.Check(r.check())
		invariants.Checkf(len(r.Row) <= MaxEnterBytes && r.Kind < MaxKinds, "enter of kind %d with %d bytes", r.Kind, len(r.Row))
		invariants.Checkf(len(r.Data) <= maxData(r.Op), "%v with %d bytes", r.Op, len(r.Data))
	}
	switch r.Op {
	case OpEnter:
		detail := byte(0)
		if r.Owned {
			detail |= detailOwned
		}
		if len(r.Data) > 0 {
			detail |= detailTexts
		}
		if r.Exact.Form != Ordinary {
			detail |= detailExact
		}
		b = appendHandle(append(b, byte(OpEnter)|detail<<opBits), r.Handle)
		b = bitio.AppendUvarint(b, r.Kind)
		if r.Exact.Form != Ordinary {
			b = bitio.AppendUvarint(b, uint32(r.Exact.Form-1)|r.Exact.Back<<formBits)
		}
		b = appendSized(b, r.Row)
		if len(r.Data) > 0 {
			b = appendSized(b, r.Data)
		}
	case OpLeave:
		b = appendHandle(append(b, byte(OpLeave)|byte(r.Reason)<<opBits), r.Handle)
	case OpDestroy:
		if r.Cause == 0 {
			return appendHandle(append(b, byte(OpDestroy)), r.Handle)
		}
		b = append(appendHandle(append(b, byte(OpDestroy)|detailCause<<opBits), r.Handle), r.Cause)
	case OpText:
		b = appendSized(appendHandle(appendNumbered(b, r), r.Handle), r.Data)
	case OpEvent:
		b = appendSized(appendNumbered(b, r), r.Data)
	case OpAnswer:
		if r.Handle == 0 {
			return bitio.AppendUvarint(append(b, byte(OpAnswer)), r.Number)
		}
		b = appendHandle(bitio.AppendUvarint(append(b, byte(OpAnswer)|detailMade<<opBits), r.Number), r.Handle)
	case OpExtension:
		b = append(appendExtension(b, Extension(r.Number)), r.Data...)
	}
	return b
}

// appendNumbered begins a record whose detail is its number, if the number is small enough.
func appendNumbered(b []byte, r Record) []byte {
	if r.Number < maxDetail {
		return append(b, byte(r.Op)|byte(r.Number)<<opBits)
	}
	return bitio.AppendUvarint(append(b, byte(r.Op)|maxDetail<<opBits), r.Number-maxDetail)
}

func appendHandle(b []byte, h bulk.Handle) []byte {
	return bitio.AppendUvarint(bitio.AppendUvarint(b, h.Index()), h.Generation())
}

func appendSized(b, data []byte) []byte {
	return append(bitio.AppendUvarint(b, uint32(len(data))), data...)
}

// maxData returns the maximum length of Data in a record.
func maxData(o Op) int {
	switch o {
	case OpEnter:
		return MaxTexts
	case OpText:
		return MaxTextField
	case OpEvent:
		return MaxEventBytes
	case OpExtension:
		return 1 + bitio.MaxUvarint32 + MaxProgram
	}
	return 0
}

// Structure is a parsed Structure message. It aliases the body it was parsed from.
type Structure struct {
	First uint32 // number of the first record
	Ticks uint32 // ticks since the previous Structure message, or since tick 0
	Count int    // number of records
	body  []byte
}

// ParseStructure reads the body of a Structure message and checks all of it except the rows
// inside Enter records, which need the schema, so that a message is applied as a whole or not
// at all.
func ParseStructure(body []byte) (Structure, error) {
	c := bitio.NewCursor(body)
	m := Structure{First: c.Uvarint(1<<32-1, "first record number"), Ticks: c.Uvarint(1<<32-1, "ticks")}
	if c.Err() == nil && m.First == 0 {
		c.Fail("first record number is 0: records are counted from 1")
	}
	m.body = c.Rest()
	for c.Err() == nil && len(c.Rest()) > 0 {
		readRecord(&c)
		if c.Err() == nil {
			m.Count++
		}
	}
	if c.Err() == nil && m.Count == 0 {
		c.Fail("no records")
	}
	if c.Err() == nil && uint64(m.First)+uint64(m.Count) > 1<<32 {
		c.Fail("record numbers beyond 32 bits: %d records from %d", m.Count, m.First)
	}
	if err := c.Err(); err != nil {
		return Structure{}, Malformed(err)
	}
	return m, nil
}

// Records yields the records in order. The error is always nil for a message that
// ParseStructure accepted. Row aliases the message.
func (m Structure) Records() iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		c := bitio.NewCursor(m.body)
		for len(c.Rest()) > 0 {
			r := readRecord(&c)
			if !yield(r, Malformed(c.Err())) || c.Err() != nil {
				return
			}
		}
	}
}

func readRecord(c *bitio.Cursor) Record {
	head := c.Byte("record")
	r := Record{Op: Op(head & (1<<opBits - 1))}
	detail := head >> opBits
	switch r.Op {
	case OpEnter:
		checkDetail(c, r.Op, detail, detailOwned|detailTexts|detailExact)
		r.Owned = detail&detailOwned != 0
		r.Handle = readHandle(c)
		r.Kind = c.Uvarint(MaxKinds-1, "kind")
		if detail&detailExact != 0 {
			form := c.Uvarint(math.MaxUint32, "exact form")
			r.Exact = Exact{Form: Form(form&(1<<formBits-1)) + 1, Back: form >> formBits}
		}
		r.Row = readSized(c, MaxEnterBytes, "row")
		if detail&detailTexts != 0 {
			r.Data = readSized(c, MaxTexts, "texts")
			if len(r.Data) == 0 {
				c.Fail("enter with texts of no bytes")
			}
		}
	case OpLeave:
		checkDetail(c, r.Op, detail, byte(HiddenByRule))
		r.Reason, r.Handle = Reason(detail), readHandle(c)
	case OpDestroy:
		checkDetail(c, r.Op, detail, detailCause)
		r.Handle = readHandle(c)
		if detail == detailCause {
			r.Cause = c.Byte("cause")
			if r.Cause == 0 {
				c.Fail("destroy with the cause 0, which is not sent")
			}
		}
	case OpText:
		r.Number, r.Handle = readNumber(c, detail, MaxTextFields), readHandle(c)
		r.Data = readSized(c, MaxTextField, "text")
	case OpEvent:
		r.Number = readNumber(c, detail, MaxEvents)
		r.Data = readSized(c, MaxEventBytes, "event")
	case OpAnswer:
		checkDetail(c, r.Op, detail, detailMade)
		r.Number = c.Uvarint(1<<32-1, "provisional index")
		if detail == detailMade {
			r.Handle = readHandle(c)
			if c.Err() == nil && r.Handle == 0 {
				c.Fail("an answer says created, and names no entity")
			}
		}
	case OpExtension:
		r.Number, r.Data = uint32(detail), readExtension(c, Extension(detail))
	default:
		c.Fail("record op %d", r.Op)
	}
	if c.Err() == nil {
		if err := r.check(); err != nil {
			c.FailWith(err)
		}
	}
	return r
}

// checkDetail rejects a detail with bits other than allowed.
func checkDetail(c *bitio.Cursor, o Op, detail, allowed byte) {
	if detail&^allowed != 0 {
		c.Fail("%v with detail %d", o, detail)
	}
}

// readNumber reads a number below limit that appendNumbered wrote, given the detail.
func readNumber(c *bitio.Cursor, detail byte, limit uint32) uint32 {
	if detail < maxDetail {
		return uint32(detail)
	}
	return maxDetail + c.Uvarint(limit-1-maxDetail, "number")
}

func readHandle(c *bitio.Cursor) bulk.Handle {
	index := c.Uvarint(MaxSlots-1, "slot index")
	return bulk.NewHandle(index, c.Uvarint(math.MaxUint32, "generation"))
}

func readSized(c *bitio.Cursor, limit uint32, what string) []byte {
	return c.Bytes(int(c.Uvarint(limit, what)), what)
}

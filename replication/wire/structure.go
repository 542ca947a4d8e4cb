package wire

import (
	"encoding/binary"
	"fmt"
	"iter"

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
)

// String returns "enter", "leave" or "destroy".
func (o Op) String() string {
	switch o {
	case OpEnter:
		return "enter"
	case OpLeave:
		return "leave"
	case OpDestroy:
		return "destroy"
	}
	return fmt.Sprintf("op(%d)", uint8(o))
}

// Record is one record of the reliable structure stream.
type Record struct {
	Op     Op
	Reason Reason // 0 or ReasonOwned for OpEnter, ReasonDestroyed for OpDestroy
	Handle bulk.Handle
	Kind   uint32 // OpEnter: the number of the entity's kind
	Row    []byte // OpEnter: what Schema.AppendFull wrote
}

// check validates a record, for both directions.
func (r Record) check() error {
	h := r.Handle
	if !h.Valid() || h.Index() >= MaxSlots {
		return bad("%v of slot %d, generation %d: not the handle of an entity", r.Op, h.Index(), h.Generation())
	}
	ok := false
	switch r.Op {
	case OpEnter:
		ok = r.Reason == 0 || r.Reason == ReasonOwned
	case OpLeave:
		ok = r.Reason == ReasonLeftInterest || r.Reason == ReasonHiddenByRule
	case OpDestroy:
		ok = r.Reason == ReasonDestroyed
	}
	if !ok {
		return bad("record %v with reason %v", r.Op, r.Reason)
	}
	return nil
}

// AppendStructureHeader begins the body of a Structure message. first is the number of its
// first record, counted from 1 over the session; tick is the tick of the states in its Enter
// records. Records follow.
func AppendStructureHeader(b []byte, first, tick uint32) []byte {
	return binary.LittleEndian.AppendUint32(bitio.AppendUvarint(b, first), tick)
}

// AppendRecord appends one record.
func AppendRecord(b []byte, r Record) []byte {
	if invariants.Enabled {
		invariants.Check(r.check())
		invariants.Checkf(len(r.Row) <= MaxEnterBytes && r.Kind < MaxKinds, "enter of kind %d with %d bytes", r.Kind, len(r.Row))
	}
	b = append(b, byte(r.Op), byte(r.Reason))
	b = bitio.AppendUvarint(b, r.Handle.Index())
	b = bitio.AppendUvarint(b, r.Handle.Generation())
	if r.Op == OpEnter {
		b = bitio.AppendUvarint(b, r.Kind)
		b = bitio.AppendUvarint(b, uint32(len(r.Row)))
		b = append(b, r.Row...)
	}
	return b
}

// Structure is a parsed Structure message. It aliases the body it was parsed from.
type Structure struct {
	First uint32 // number of the first record
	Tick  uint32
	Count int // how many records there are
	body  []byte
}

// ParseStructure reads the body of a Structure message and checks all of it except the rows
// inside Enter records, which need the schema, so that a message is applied as a whole or not
// at all.
func ParseStructure(body []byte) (Structure, error) {
	c := bitio.NewCursor(body)
	m := Structure{First: c.Uvarint(1<<32-1, "first record number"), Tick: c.Uint32("tick")}
	if c.Err() == nil && m.First == 0 {
		c.Fail("first record number is 0: records are counted from 1")
	}
	m.body = c.Rest()
	for c.Err() == nil && len(c.Rest()) > 0 {
		if readRecord(&c); c.Err() == nil {
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
	r := Record{Op: Op(c.Byte("op")), Reason: Reason(c.Byte("reason"))}
	index := c.Uvarint(MaxSlots-1, "slot index")
	r.Handle = bulk.NewHandle(index, c.Uvarint(bulk.MaxGeneration, "generation"))
	if r.Op == OpEnter {
		r.Kind = c.Uvarint(MaxKinds-1, "kind")
		r.Row = c.Bytes(int(c.Uvarint(MaxEnterBytes, "row length")), "row")
	}
	if c.Err() == nil {
		if err := r.check(); err != nil {
			c.FailWith(err)
		}
	}
	return r
}

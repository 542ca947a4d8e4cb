//go:build linux

package main

import (
	"bytes"
	"fmt"
	"math"

	"github.com/vmihailenco/msgpack/v5"
)

// An update of the peers delta is four msgpack values:
//
//	tick                      a number
//	what entered the view     an array of numbers: id, kind and state of each
//	what changed              an array of numbers: id and state of each
//	what left the view        an array of ids
//
// A state is position and velocity: six floats, or six whole numbers if quantised.
const (
	stateValues  = 6
	enterValues  = 2 + stateValues
	changeValues = 1 + stateValues

	positionUnit = 1.0 / 256 // metres, of quantised positions, as worldd's
	velocityUnit = 1.0 / 32  // m/s
)

// encodeDelta returns the encoder of the peers delta.
func encodeDelta(quantised bool) encoder {
	return func(g *game, v *viewer) ([]byte, error) {
		var enters, changes []*entity
		var leaves []uint32
		for e := range v.known {
			switch {
			case e.dead || !within(e.at, v.avatar.at, leaveRadius):
				leaves = append(leaves, e.id)
				delete(v.known, e)
			case e.changed > v.sent:
				changes = append(changes, e)
			}
		}
		for e := range g.near(v.avatar.at, enterRadius) {
			if _, known := v.known[e]; !known {
				enters = append(enters, e)
				v.known[e] = struct{}{}
			}
		}
		return writeDelta(g.tick, enters, changes, leaves, quantised)
	}
}

// writeDelta returns the message of an update. The encoder fails only if its writer does,
// and a buffer never does.
func writeDelta(tick uint32, enters, changes []*entity, leaves []uint32, quantised bool) ([]byte, error) {
	var b bytes.Buffer
	b.Grow(16 + 48*(len(enters)+len(changes)) + 5*len(leaves))
	m := msgpack.GetEncoder()
	defer msgpack.PutEncoder(m)
	m.Reset(&b)
	err := m.EncodeUint(uint64(tick))
	_ = m.EncodeArrayLen(enterValues * len(enters))
	for _, e := range enters {
		_ = m.EncodeUint(uint64(e.id))
		_ = m.EncodeUint(uint64(e.kind))
		writeState(m, e, quantised)
	}
	_ = m.EncodeArrayLen(changeValues * len(changes))
	for _, e := range changes {
		_ = m.EncodeUint(uint64(e.id))
		writeState(m, e, quantised)
	}
	_ = m.EncodeArrayLen(len(leaves))
	for _, id := range leaves {
		_ = m.EncodeUint(uint64(id))
	}
	return b.Bytes(), err
}

func writeState(m *msgpack.Encoder, e *entity, quantised bool) {
	for _, x := range e.at {
		writeField(m, x, positionUnit, quantised)
	}
	for _, x := range e.velocity {
		writeField(m, x, velocityUnit, quantised)
	}
}

func writeField(m *msgpack.Encoder, x float32, unit float64, quantised bool) {
	if quantised {
		_ = m.EncodeInt(int64(math.Round(float64(x) / unit)))
	} else {
		_ = m.EncodeFloat32(x)
	}
}

// deltaView is a client's view of the peers delta.
type deltaView struct {
	quantised bool
	entities  map[uint32]*seen
	reader    bytes.Reader
	msgpack   *msgpack.Decoder
}

// seen is an entity in view.
type seen struct {
	kind         uint8
	at, velocity vec
}

func newDeltaView(quantised bool) *deltaView {
	return &deltaView{quantised: quantised, entities: map[uint32]*seen{}, msgpack: msgpack.NewDecoder(nil)}
}

// decode applies an update.
func (v *deltaView) decode(message []byte) (u update, err error) {
	v.reader.Reset(message)
	v.msgpack.Reset(&v.reader)
	if u.tick, err = v.msgpack.DecodeUint32(); err != nil {
		return u, err
	}
	enters, err := v.each(enterValues, v.enter)
	if err != nil {
		return u, err
	}
	changes, err := v.each(changeValues, v.change)
	if err != nil {
		return u, err
	}
	_, err = v.each(1, v.leave)
	u.rows, u.known = enters+changes, len(v.entities)
	return u, err
}

// each reads an array, and calls read for each item of n values.
func (v *deltaView) each(values int, read func() error) (items int, err error) {
	n, err := v.msgpack.DecodeArrayLen()
	for ; err == nil && items < n/values; items++ {
		err = read()
	}
	return items, err
}

func (v *deltaView) enter() error {
	id, err := v.msgpack.DecodeUint32()
	if err != nil {
		return err
	}
	e := &seen{}
	if e.kind, err = v.msgpack.DecodeUint8(); err != nil {
		return err
	}
	v.entities[id] = e
	return v.state(e)
}

func (v *deltaView) change() error {
	id, err := v.msgpack.DecodeUint32()
	if err != nil {
		return err
	}
	e := v.entities[id]
	if e == nil {
		return fmt.Errorf("a change of entity %d, which is not in view", id)
	}
	return v.state(e)
}

func (v *deltaView) leave() error {
	id, err := v.msgpack.DecodeUint32()
	delete(v.entities, id)
	return err
}

func (v *deltaView) state(e *seen) error {
	for i := range e.at {
		if err := v.field(&e.at[i], positionUnit); err != nil {
			return err
		}
	}
	for i := range e.velocity {
		if err := v.field(&e.velocity[i], velocityUnit); err != nil {
			return err
		}
	}
	return nil
}

func (v *deltaView) field(x *float32, unit float32) (err error) {
	if !v.quantised {
		*x, err = v.msgpack.DecodeFloat32()
		return err
	}
	n, err := v.msgpack.DecodeInt32()
	*x = float32(n) * unit
	return err
}

package replication

import (
	"slices"

	"github.com/worldd/worldd/replication/wire"
)

// payloads are the newest datagrams that were made of a frame, without their
// headers: of viewers that are to be sent the same rows, coded from the same
// states, all but the first are sent a copy. So it is where a crowd stands close
// together, and wherever everybody sees everything. A table with one place for
// each hash: what is rare overwrites and is overwritten.
type payloads [payloadPlaces]payload

type payload struct {
	packed
	capture uint64      // the frame
	keys    []codingKey // of its rows
}

// reserve makes room in all places for as long datagrams as there are, so that a
// warm tick allocates nothing.
func (p *payloads) reserve() {
	const bytes = wire.MaxDatagram + 16
	allBytes, allKeys := make([]byte, payloadPlaces*bytes), make([]codingKey, payloadPlaces*wire.MaxRows)
	for i := range p {
		p[i].bytes = allBytes[i*bytes : i*bytes : (i+1)*bytes]
		p[i].keys = allKeys[i*wire.MaxRows : i*wire.MaxRows : (i+1)*wire.MaxRows]
	}
}

// of returns the place for a datagram with these rows.
func (p *payloads) of(keys []codingKey) *payload {
	sum := codingKey(0)
	for _, k := range keys {
		sum += k
	}
	return &p[uint64(sum)*0x9e3779b97f4a7c15>>(64-payloadBits)]
}

// holds says whether p is the datagram of these rows.
func (p *payload) holds(capture uint64, keys []codingKey) bool {
	return p.capture == capture && slices.Equal(p.keys, keys)
}

// keep makes p the datagram of these rows.
func (p *payload) keep(capture uint64, keys []codingKey, made packed) {
	p.capture, p.packed = capture, made
	p.keys = append(p.keys[:0], keys...)
}

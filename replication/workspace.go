package replication

import (
	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/replication/schema"
)

// workspace is what one goroutine needs to make snapshots, and what it has made
// of the present frame that serves further viewers. Nothing of it is any one
// viewer's.
type workspace struct {
	capture   uint64 // the capture that codings and payloads are of
	codings   codings
	payloads  payloads
	stats     Stats
	sweep     sweep
	wanted    []wanted
	keys      []uint64
	newcomers []newcomer
	// waiting are the codings of the rows that wait for their place in the
	// snapshot, in ascending order of slots, places those of their rows.
	waiting []codingKey
	places  []uint32
	ranking ranking
	picks   picks
	encoder encoder
	full    []byte // the newest row that was coded in full
	writer  bitio.Writer
}

// turnTo makes the workspace ready for the replicator's present frame.
func (w *workspace) turnTo(r *Replicator) {
	if w.payloads[0].keys == nil {
		w.payloads.reserve()
	}
	if w.capture != r.changes.captures {
		w.capture = r.changes.captures
		w.codings.reset()
	}
}

// fullRow codes a row for an Enter record. The result is valid until the next
// call.
func (w *workspace) fullRow(s *schema.Schema, row schema.Row) []byte {
	w.writer.Reset(w.full[:0])
	shares := s.AppendFull(&w.writer, row)
	addShares(&w.stats.EnterRowBits, &shares, s.Components())
	w.full = w.writer.Bytes()
	return w.full
}

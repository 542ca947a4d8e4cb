package session

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world"
)

// Notes collects the notes of a run, in the order in which Core.AppendNotes made them. The zero value
// is a run without sessions.
type Notes struct {
	sessions map[uint64]*notedSession
	departed map[uint64]*notedDeparture
	arrived  map[uint64]uint64 // moves by session
	lastID   uint64
}

// notedDeparture is a session that has left for another room.
type notedDeparture struct {
	notedSession
	to string
}

// notedSession is a session as the notes describe it.
type notedSession struct {
	identity
	startTick, endTick uint64
	secrets            secrets
	moves              uint64
	visited            []visit
	play               notedPlay
	owned              []world.Entity
	saved              []byte
}

// ErrNoteVersion is the error of a note that a newer server has written: start that version, or begin a
// new run.
var ErrNoteVersion = errors.New("server: the journal's sessions were written by a newer version of worldd")

// errNote is the error of a note that no server has written.
var errNote = errors.New("server: malformed note of sessions")

// Add applies the next note. An empty note changes nothing. After an error, which is ErrNoteVersion or
// says that the note is malformed, n must not be used.
func (n *Notes) Add(note []byte) error {
	if len(note) == 0 {
		return nil
	}
	r := noteReader{rest: note}
	version, all := r.byte(), r.byte()
	switch {
	case version > noteVersion:
		return fmt.Errorf("%w: version %d, this is %d", ErrNoteVersion, version, noteVersion)
	case version < notePlainVersion || all > 1:
		return errNote
	case all == 1:
		clear(n.sessions)
		clear(n.departed)
		clear(n.arrived)
	}
	n.lastID = r.uvarint()
	if n.sessions == nil {
		n.sessions, n.departed, n.arrived = map[uint64]*notedSession{}, map[uint64]*notedDeparture{}, map[uint64]uint64{}
	}
	for len(r.rest) > 0 && !r.failed {
		id, parts := r.uvarint(), r.byte()
		switch {
		case id == 0:
			r.failed = true
		case version == notePlainVersion || parts < noteDeparture:
			n.addSession(&r, id, parts)
		default:
			n.addPassage(&r, id, parts)
		}
	}
	if r.failed {
		return errNote
	}
	return nil
}

// Sessions returns the number of sessions that have not ended, including those that are on their way to other rooms.
func (n *Notes) Sessions() int { return len(n.sessions) + len(n.departed) }

// ascending returns the ids of the sessions.
func (n *Notes) ascending() []uint64 { return slices.Sorted(maps.Keys(n.sessions)) }

// waiting returns the departures in ascending order of the sessions.
func (n *Notes) waiting() (all []*notedDeparture) {
	for _, id := range slices.Sorted(maps.Keys(n.departed)) {
		all = append(all, n.departed[id])
	}
	return all
}

// arrivals returns the arrivals in ascending order of the sessions.
func (n *Notes) arrivals() (all []arrival) {
	for _, id := range slices.Sorted(maps.Keys(n.arrived)) {
		all = append(all, arrival{id: id, moves: n.arrived[id]})
	}
	return all
}

// addPassage applies what a note says of a session that moves between rooms.
func (n *Notes) addPassage(r *noteReader, id uint64, record byte) {
	switch record {
	case noteDeparture:
		d := &notedDeparture{to: string(r.text(wire.MaxRoom))}
		d.readIdentity(r, id)
		d.readPlay(r)
		d.saved = slices.Clone(r.text(MaxSessionValue))
		n.departed[id] = d
	case noteDepartureOver:
		delete(n.departed, id)
	case noteArrival:
		n.arrived[id] = r.uvarint()
	case noteArrivalOver:
		delete(n.arrived, id)
	default:
		r.failed = true
	}
}

// addSession applies what a note says of one session.
func (n *Notes) addSession(r *noteReader, id uint64, parts byte) {
	s := n.sessions[id]
	switch {
	case parts == 0: // perhaps of a session that had ended when a note of everything was made
		delete(n.sessions, id)
		return
	case parts > noteIdentity|notePlay|noteValue, s == nil && parts != noteIdentity|notePlay|noteValue:
		r.failed = true
		return
	case s == nil:
		s = &notedSession{}
		n.sessions[id] = s
	}
	if parts&noteIdentity != 0 {
		s.readIdentity(r, id)
	}
	if parts&notePlay != 0 {
		s.readPlay(r)
	}
	if parts&noteValue != 0 {
		s.saved = slices.Clone(r.text(MaxSessionValue))
	}
}

func (s *notedSession) readIdentity(r *noteReader, id uint64) {
	s.identity = identity{id: id, name: string(r.text(wire.MaxName)), user: string(r.anyText()), address: string(r.anyText()), abilities: wire.Abilities(r.byte())}
	s.startTick, s.endTick = r.uvarint(), r.uvarint()
	s.visited = nil
	count := r.byte()
	if count > maxFormer+1 {
		r.failed = true
	}
	var all []secret
	for range count {
		all = append(all, slices.Clone(r.bytes(wire.SecretBytes)))
	}
	s.secrets = restoredSecrets(all)
	s.moves = r.uvarint()
	for range r.count(1 + 1 + 8) {
		s.visited = append(s.visited, visit{uint32(r.uvarint()), uint32(r.uvarint()), r.uint64()})
	}
}

func (s *notedSession) readPlay(r *noteReader) {
	s.play = notedPlay{
		away: r.byte() == 1, entity: world.Entity(r.uint64()), viewpoint: world.Entity(r.uint64()), handled: uint32(r.uvarint()),
		nextInCommand: uint32(r.uvarint()), nextInInput: r.uvarint(), structure: uint32(r.uvarint()),
	}
	s.owned = nil
	for range r.count(8) {
		s.owned = append(s.owned, world.Entity(r.uint64()))
	}
}

// noteReader reads a note. After a failure it returns zero values.
type noteReader struct {
	rest   []byte
	failed bool
}

// bytes returns the next n bytes, which the note keeps.
func (r *noteReader) bytes(n int) []byte {
	if r.failed || n > len(r.rest) {
		r.failed = true
		return nil
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

func (r *noteReader) byte() byte {
	if b := r.bytes(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *noteReader) uint64() uint64 {
	if b := r.bytes(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

func (r *noteReader) uvarint() uint64 {
	v, n := binary.Uvarint(r.rest)
	r.failed = r.failed || n <= 0
	if r.failed {
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

// count returns the length of a list whose elements have at least the given number of bytes.
func (r *noteReader) count(least int) int {
	n := r.uvarint()
	if n > uint64(len(r.rest)/least) {
		r.failed = true
		return 0
	}
	return int(n)
}

// text returns a text of at most limit bytes.
func (r *noteReader) text(limit int) []byte {
	b := r.anyText()
	if len(b) > limit {
		r.failed = true
	}
	return b
}

func (r *noteReader) anyText() []byte { return r.bytes(r.count(1)) }

package session

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/worldd/worldd/world"
)

// A note says how the sessions of a Core have changed since the note before, in opaque bytes that a journal
// keeps with each frame of the world. Notes collects the notes of a run that has ended, for
// Core.RestoreSessions.
//
//	note:     version u8 | flags u8 | newest id | session ...     flag 1: later sessions are all there are
//	session:  id | parts u8 | identity | play | value             no parts: the session has ended
//	        | id | noteDeparture | room | identity | play | value it has left for another room (passage.go)
//	        | id | noteArrival | moves                            it has come from another room
//	        | id | noteDepartureOver or noteArrivalOver
//	identity: name, user, address, abilities u8, start, end, secrets (the newest last), moves, visits
//	play:     away u8, entity u64, viewpoint u64, handled, provisional counters, structure, owned handles
//
// Numbers are uvarints, texts and lists follow their length.
//
// Only notes with departures or arrivals have the newest version, so that an earlier program reads the others.
const (
	noteVersion      = 2
	notePlainVersion = 1
)

// The parts of a session in a note.
const (
	noteIdentity = 1 << iota
	notePlay
	noteValue
)

// Records of sessions that move between rooms, in place of parts.
const (
	noteDeparture = 16 + iota
	noteDepartureOver
	noteArrival
	noteArrivalOver
)

// MaxSessionValue bounds the bytes that Hooks.SaveSession returns.
const MaxSessionValue = 64 << 10

// structureStep bounds the structure records that a client receives between two notes: a note says a number
// above all of them, so that it does not change with each record. A client that claims to have more
// begins a new session.
const structureStep = 1 << 22

// noteLog records the contents of a Core's notes so far.
type noteLog struct {
	ids    []uint64 // sessions that have not ended, ascending
	lastID uint64
	// Departures and arrivals that the notes hold.
	departed, arrived []notedPassage
	value             []byte         // scratch
	owned             []world.Entity // scratch
}

// notedPassage identifies a departure, by its moves before, or an arrival, by its moves with it.
type notedPassage struct{ id, moves uint64 }

// noted is a session as the newest notes describe it.
type noted struct {
	identity notedIdentity
	play     notedPlay
	value    []byte
	begun    bool // some note holds the session
}

// notedIdentity tells whether the identity of a session has changed.
type notedIdentity struct {
	address string
	secret  *byte // of the newest
	former  int
}

// notedPlay tells whether the play of a session has changed.
type notedPlay struct {
	away              bool
	entity, viewpoint world.Entity
	handled           uint32
	nextInCommand     uint32
	nextInInput       uint64
	structure         uint32
	owned             uint64
}

// AppendNotes appends the note of the present tick, or nothing if no session has changed since the last
// call. With all it describes all sessions, as the first note of a journal does, and later notes stay as
// they would have been. Call it after Step and before Send, on the goroutine that calls Tick.
//
// It calls Hooks.SaveSession. Without this hook notes hold no sessions: their clients begin new ones
// after a crash.
func (c *Core) AppendNotes(b []byte, all bool) []byte {
	before, lastID := len(b), c.newestID()
	b = append(b, notePlainVersion, flagOf(all))
	b = binary.AppendUvarint(b, lastID)
	header := len(b)
	if c.config.Hooks.SaveSession != nil {
		b = c.appendSessionNotes(b, all)
	}
	c.passages.settle(c.milestoneNow())
	plain := len(b)
	b = c.notes.appendPassages(b, &c.passages, all)
	if len(b) > plain {
		b[before] = noteVersion
	}
	if all {
		return b
	}
	b = c.notes.appendEnded(b, &c.roster)
	if len(b) == header && lastID == c.notes.lastID {
		return b[:before]
	}
	c.notes.noteNewest(lastID)
	return b
}

func flagOf(set bool) byte {
	if set {
		return 1
	}
	return 0
}

// noteNewest records that a note says the id of the newest connection.
func (l *noteLog) noteNewest(id uint64) { l.lastID = id }

// addNoted records that a note holds session id.
func (l *noteLog) addNoted(id uint64) {
	if i, found := slices.BinarySearch(l.ids, id); !found {
		l.ids = slices.Insert(l.ids, i, id)
	}
}

// continueFrom continues the notes of a run that was restored.
func (l *noteLog) continueFrom(n *Notes) {
	l.ids, l.lastID = n.ascending(), n.lastID
	for _, d := range n.waiting() {
		l.departed = append(l.departed, notedPassage{d.id, d.moves})
	}
	for _, a := range n.arrivals() {
		l.arrived = append(l.arrived, notedPassage{a.id, a.moves})
	}
}

// appendEnded appends the ends of the noted sessions that r no longer has.
func (l *noteLog) appendEnded(b []byte, r *roster) []byte {
	kept := l.ids[:0]
	for _, id := range l.ids {
		if s := r.Session(id); s != nil && !s.isOver() {
			kept = append(kept, id)
			continue
		}
		b = binary.AppendUvarint(b, id)
		b = append(b, 0)
	}
	l.ids = kept
	return b
}

// appendSessionNotes appends the notes of all sessions. The calls of SaveSession are timed together: a clock is read
// twice, and not for each of them.
func (c *Core) appendSessionNotes(b []byte, all bool) []byte {
	defer c.timer.end(HookSave, 0, "", c.timer.begin())
	for next := 0; next < len(c.sessions); {
		b, next = c.appendNotesFrom(b, next, all)
	}
	return b
}

// appendNotesFrom appends the notes of the sessions from one on, up to the first whose SaveSession panics, and returns where
// to continue. That session ends, and the notes keep what they said of it before.
func (c *Core) appendNotesFrom(b []byte, at int, all bool) (noted []byte, next int) {
	noted = b
	defer func() {
		if at == len(c.sessions) || c.config.PanicEnds {
			return
		}
		if value := recover(); value != nil {
			s := c.sessions[at]
			s.endNext(errHookPanicked)
			c.notePanic(HookSave, s.id, value)
			next = at + 1
		}
	}()
	for ; at < len(c.sessions); at++ {
		if s := c.sessions[at]; !s.isOver() {
			noted = c.notes.appendSession(noted, s, all)
		}
	}
	return noted, at
}

// appendSession appends what has changed of s, or with all everything.
func (l *noteLog) appendSession(b []byte, s *Session, all bool) []byte {
	l.saveValue(s)
	identity, play := s.identityKey(), s.describePlay()
	parts := byte(noteIdentity | notePlay | noteValue)
	if !all && s.noted.begun {
		parts = s.noted.changedParts(identity, play, l.value)
	}
	if parts == 0 {
		return b
	}
	b = binary.AppendUvarint(b, s.id)
	b = append(b, parts)
	if parts&noteIdentity != 0 {
		b = s.appendIdentity(b)
	}
	if parts&notePlay != 0 {
		l.owned = s.viewer.AppendOwned(l.owned[:0])
		b = play.append(b, l.owned)
	}
	if parts&noteValue != 0 {
		b = appendText(b, l.value)
	}
	if !all {
		if !s.noted.begun {
			l.addNoted(s.id)
		}
		s.noted.record(identity, play, l.value)
	}
	return b
}

// saveValue puts the game's value of s into the scratch.
func (l *noteLog) saveValue(s *Session) {
	saved := s.core.config.Hooks.SaveSession(s, l.value[:0])
	if len(saved) > MaxSessionValue {
		panic(fmt.Sprintf("SaveSession returned %d bytes, at most %d are allowed", len(saved), MaxSessionValue))
	}
	l.value = saved
}

// forget makes the next note describe the whole session.
func (n *noted) forget() { *n = noted{} }

// record records what a note says.
func (n *noted) record(identity notedIdentity, play notedPlay, value []byte) {
	*n = noted{identity, play, append(n.value[:0], value...), true}
}

// changedParts returns the parts of a session that differ from its newest note.
func (n *noted) changedParts(identity notedIdentity, play notedPlay, value []byte) (parts byte) {
	if identity != n.identity {
		parts |= noteIdentity
	}
	if play != n.play {
		parts |= notePlay
	}
	if string(value) != string(n.value) {
		parts |= noteValue
	}
	return parts
}

// describePlay returns the session's play as a note says it.
func (s *Session) describePlay() notedPlay {
	return notedPlay{
		away: s.state == stateAway, entity: s.entity, viewpoint: s.viewpoint, handled: s.handled,
		nextInCommand: s.provisionals.nextInCommand, nextInInput: s.provisionals.nextInInput,
		structure: structureAbove(s.viewer.Numbers().Structure), owned: s.viewer.OwnedChanges(),
	}
}

// structureAbove returns a number above the number of each record that leaves before the next note.
func structureAbove(written uint32) uint32 {
	return uint32(min((uint64(written)/structureStep+2)*structureStep, 1<<32-1))
}

// identityKey returns what tells whether the identity of the session has changed.
func (s *Session) identityKey() notedIdentity {
	key := notedIdentity{address: s.address, former: len(s.secrets.former)}
	if len(s.secrets.newest) > 0 {
		key.secret = &s.secrets.newest[0] // every secret has memory of its own
	}
	return key
}

func (s *Session) appendIdentity(b []byte) []byte {
	b = appendText(b, s.name)
	b = appendText(b, s.user)
	b = appendText(b, s.address)
	b = append(b, byte(s.abilities))
	b = binary.AppendUvarint(b, s.startTick)
	b = binary.AppendUvarint(b, s.endTick)
	if len(s.secrets.newest) == 0 {
		b = append(b, 0)
	} else {
		b = append(b, byte(len(s.secrets.former)+1))
		for _, x := range s.secrets.former {
			b = append(b, x...)
		}
		b = append(b, s.secrets.newest...)
	}
	b = binary.AppendUvarint(b, s.travel.moves)
	b = binary.AppendUvarint(b, uint64(len(s.travel.visited)))
	for _, v := range s.travel.visited {
		b = binary.AppendUvarint(b, uint64(v.first))
		b = binary.AppendUvarint(b, uint64(v.last))
		b = binary.LittleEndian.AppendUint64(b, v.epoch)
	}
	return b
}

func (p *notedPlay) append(b []byte, owned []world.Entity) []byte {
	b = append(b, flagOf(p.away))
	b = binary.LittleEndian.AppendUint64(b, uint64(p.entity))
	b = binary.LittleEndian.AppendUint64(b, uint64(p.viewpoint))
	b = binary.AppendUvarint(b, uint64(p.handled))
	b = binary.AppendUvarint(b, uint64(p.nextInCommand))
	b = binary.AppendUvarint(b, p.nextInInput)
	b = binary.AppendUvarint(b, uint64(p.structure))
	b = binary.AppendUvarint(b, uint64(len(owned)))
	for _, h := range owned {
		b = binary.LittleEndian.AppendUint64(b, uint64(h))
	}
	return b
}

func appendText[T string | []byte](b []byte, text T) []byte {
	b = binary.AppendUvarint(b, uint64(len(text)))
	return append(b, text...)
}

// appendPassages appends the departures and arrivals that are new or over, or with all every one.
func (l *noteLog) appendPassages(b []byte, p *passages, all bool) []byte {
	for _, t := range p.departed {
		if all || !slices.Contains(l.departed, notedPassage{t.id, t.moves}) {
			b = append(b, t.note...)
		}
	}
	for _, a := range p.arrived {
		if all || !slices.Contains(l.arrived, notedPassage{a.id, a.moves}) {
			b = append(binary.AppendUvarint(b, a.id), noteArrival)
			b = binary.AppendUvarint(b, a.moves)
		}
	}
	if all {
		return b
	}
	departed, arrived := l.departed, l.arrived
	l.departed, l.arrived = nil, nil
	for _, t := range p.departed {
		l.departed = append(l.departed, notedPassage{t.id, t.moves})
	}
	for _, a := range p.arrived {
		l.arrived = append(l.arrived, notedPassage{a.id, a.moves})
	}
	b = appendOver(b, departed, l.departed, noteDepartureOver)
	return appendOver(b, arrived, l.arrived, noteArrivalOver)
}

// appendOver appends the ends of former passages whose sessions have none now.
func appendOver(b []byte, former, now []notedPassage, record byte) []byte {
	for _, x := range former {
		if !slices.ContainsFunc(now, func(y notedPassage) bool { return y.id == x.id }) {
			b = append(binary.AppendUvarint(b, x.id), record)
		}
	}
	return b
}

// appendDeparture appends a session that has left for a room.
func appendDeparture(b []byte, s *Session, play notedPlay, saved []byte, to string) []byte {
	b = append(binary.AppendUvarint(b, s.id), noteDeparture)
	b = appendText(b, to)
	b = s.appendIdentity(b)
	b = play.append(b, nil)
	return appendText(b, saved)
}

package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world"
)

// A letter is a message from a room to another one, or to all that listen. It is lost rather than delivered twice:
//
//	Tell ──► held until its frame is durable ──► RouterConfig.Post ──► Deliver ──► queue ──► the function, at the next tick
//	              (with HoldOutput)                 no such room: dropped       full: dropped

// MaxRoomMessage bounds a message between rooms, in bytes of JSON.
const MaxRoomMessage = 32 << 10

const (
	// maxLetters and maxLetterBytes bound the letters that wait for a tick of their room, and those that wait for the disk of
	// the room that sends them.
	maxLetters     = 1024
	maxLetterBytes = 1 << 20
	// lettersPerTick bounds the letters of one tick: each runs a function of the game inside it.
	lettersPerTick = 256
)

// DefinedRoomMessage is a message between rooms by its Go type: OnTold gives it a function, and Core.Tell and Announce send it.
type DefinedRoomMessage[T any] struct{ name string }

// DefineRoomMessage returns the definition of a message, whose name the rooms that send it and those that receive it share. The
// content is sent as JSON, also within a process. The nodes of a cluster may run two versions of a game: fields that
// the receiver does not know are ignored, and fields that it lacks are zero.
func DefineRoomMessage[T any](name string) DefinedRoomMessage[T] {
	return DefinedRoomMessage[T]{name}
}

// With returns the message with a content.
func (d DefinedRoomMessage[T]) With(content T) RoomMessage { return RoomMessage{d.name, content} }

// RoomMessage is a message for other rooms, made by DefinedRoomMessage.With.
type RoomMessage struct {
	name    string
	content any
}

// Told is the game's function for a message of another room, made by OnTold.
type Told struct {
	name string
	read func(body []byte) (func(w *world.World, from string), error) // nil: no function
}

// OnTold returns f as the function for a message of other rooms: see Hooks.Told. from is the name of the room that has sent it.
func OnTold[T any](d DefinedRoomMessage[T], f func(w *world.World, from string, content T)) Told {
	if f == nil {
		return Told{name: d.name}
	}
	return Told{d.name, func(body []byte) (func(*world.World, string), error) {
		var content T
		if err := json.Unmarshal(body, &content); err != nil {
			return nil, err
		}
		return func(w *world.World, from string) { f(w, from, content) }, nil
	}}
}

// toldFuncs are the functions for messages of other rooms.
type toldFuncs []Told

// find returns the function for a message, or nil.
func (f toldFuncs) find(name string) *Told {
	i := slices.IndexFunc(f, func(t Told) bool { return t.name == name })
	if i < 0 {
		return nil
	}
	return &f[i]
}

// validate reports messages with a nil function, and names that are invalid or used twice.
func (f toldFuncs) validate() error {
	var errs []error
	for i, t := range f {
		if t.read == nil {
			errs = append(errs, fmt.Errorf("server: the function of room message %q is nil", t.name))
		}
		if !validLetterName(t.name) {
			errs = append(errs, fmt.Errorf("server: a room message named %q: want 1 to %d bytes of UTF-8", t.name, wire.MaxName))
		}
		if f.find(t.name) != &f[i] {
			errs = append(errs, fmt.Errorf("server: room message %q has two functions in Hooks.Told", t.name))
		}
	}
	return errors.Join(errs...)
}

func validLetterName(name string) bool {
	return name != "" && len(name) <= wire.MaxName && utf8.ValidString(name)
}

// Letter is a message on its way.
type Letter struct {
	From string          `json:"from"` // room
	To   string          `json:"to,omitempty"`
	Kind string          `json:"kind,omitempty"` // of rooms, if To is empty; empty: all
	Name string          `json:"name"`
	Body json.RawMessage `json:"body"`
}

// LetterResult tells how a letter ends.
type LetterResult uint8

// The results of letters.
const (
	LetterDelivered LetterResult = iota // to the game's function
	LetterNoRoom                        // no such room runs
	LetterFull                          // too many letters wait
	LetterUnread                        // the room's game has no function for it, or another type
	LetterUnsent                        // another server has not confirmed it: it may have arrived
	LetterLate                          // a newer letter of the same room was here first
	LetterEnded                         // one of the two rooms has ended before
	letterResults
)

// String returns the result's name in metrics.
func (r LetterResult) String() string {
	return [letterResults]string{"delivered", "no_room", "full", "unread", "unsent", "late", "ended"}[r]
}

// letterCounts counts letters by result. Any goroutine may use it.
type letterCounts [letterResults]atomic.Uint64

// CountLetters counts letters that no room of this server has been given, or could be.
func (r *Router) CountLetters(result LetterResult, n int) { r.letters[result].Add(uint64(n)) }

// letterBox holds the letters that a Core sends and receives.
type letterBox struct {
	funcs toldFuncs
	post  func(Letter) // to other rooms; nil: there are none
	count *letterCounts

	sending sync.Mutex // acquired before the mutexes that post acquires
	held    letterQueue
	frames  []uint64 // of the held letters

	receiving sync.Mutex
	waiting   letterQueue
}

func (b *letterBox) open(c Config) {
	b.funcs, b.count = c.Hooks.Told, &letterCounts{}
	if c.Router != nil {
		b.post, b.count = c.Router.config.Post, &c.Router.letters
	}
}

// letterQueue is a bounded queue of letters.
type letterQueue struct {
	letters []Letter
	bytes   int
	closed  bool
}

// add adds a letter. If it cannot, it returns why.
func (q *letterQueue) add(l Letter) LetterResult {
	switch {
	case q.closed:
		return LetterEnded
	case len(q.letters) >= maxLetters || q.bytes+len(l.Body) > maxLetterBytes:
		return LetterFull
	}
	q.letters = append(q.letters, l)
	q.bytes += len(l.Body)
	return LetterDelivered
}

// takeFirst removes the oldest letters, at most n.
func (q *letterQueue) takeFirst(n int) []Letter {
	taken := slices.Clone(q.letters[:min(n, len(q.letters))])
	q.letters = slices.Delete(q.letters, 0, len(taken))
	for _, l := range taken {
		q.bytes -= len(l.Body)
	}
	return taken
}

// close empties the queue for good, and returns the number of letters that were in it.
func (q *letterQueue) close() (dropped int) {
	dropped = len(q.letters)
	*q = letterQueue{closed: true}
	return dropped
}

// Tell sends a message to the room with that name, on this server or another: server.Room.Tell documents it. The game's hooks and
// systems may call it, on the goroutine that calls Tick.
func (c *Core) Tell(room string, m RoomMessage) error {
	if room == "" || len(room) > wire.MaxRoom {
		return fmt.Errorf("server: a message for a room named %.80q: want 1 to %d bytes", room, wire.MaxRoom)
	}
	return c.sendLetter(Letter{To: room}, m)
}

// Announce sends a message to all other rooms of a kind, or of all kinds if that is empty, whose games have a function for it. Otherwise it is like Tell.
func (c *Core) Announce(kind string, m RoomMessage) error {
	if len(kind) > wire.MaxRoom {
		return fmt.Errorf("server: a message for rooms of a kind named %.80q: want at most %d bytes", kind, wire.MaxRoom)
	}
	return c.sendLetter(Letter{Kind: kind}, m)
}

func (c *Core) sendLetter(l Letter, m RoomMessage) error {
	body, err := json.Marshal(m.content)
	switch {
	case !validLetterName(m.name):
		return fmt.Errorf("server: a room message named %q: want 1 to %d bytes of UTF-8", m.name, wire.MaxName)
	case err != nil:
		return fmt.Errorf("server: room message %q: %w", m.name, err)
	case len(body) > MaxRoomMessage:
		return fmt.Errorf("server: room message %q has %d bytes: want at most %d", m.name, len(body), MaxRoomMessage)
	}
	l.From, l.Name, l.Body = c.config.Room, m.name, body
	c.letterBox.send(l, c.outputGate)
	return nil
}

// send sends a letter, once the gate lets the present frame leave.
func (b *letterBox) send(l Letter, gate *outputGate) {
	b.sending.Lock()
	defer b.sending.Unlock()
	frame := uint64(0)
	if gate != nil {
		frame = gate.frame.Load()
	}
	if result := b.held.add(l); result != LetterDelivered {
		b.count[result].Add(1)
		return
	}
	b.frames = append(b.frames, frame)
	b.postReleased(gate)
}

// release sends the letters that the gate lets leave. Any goroutine may call it.
func (b *letterBox) release(gate *outputGate) {
	b.sending.Lock()
	defer b.sending.Unlock()
	b.postReleased(gate)
}

func (b *letterBox) postReleased(gate *outputGate) {
	n := 0
	for n < len(b.frames) && gate.isOpen(b.frames[n]) {
		n++
	}
	b.frames = slices.Delete(b.frames, 0, n)
	for _, l := range b.held.takeFirst(n) {
		if b.post == nil {
			b.count[LetterNoRoom].Add(1)
			continue
		}
		b.post(l)
	}
}

// discard drops the held letters, of frames that will never be durable: the next run makes these ticks again.
func (b *letterBox) discard() {
	b.sending.Lock()
	defer b.sending.Unlock()
	b.count[LetterEnded].Add(uint64(b.held.close()))
	b.frames = nil
}

// Deliver queues a letter for the next tick, or drops it. Any goroutine may call it.
func (c *Core) Deliver(l Letter) { c.letterBox.deliver(l) }

func (b *letterBox) deliver(l Letter) {
	b.receiving.Lock()
	defer b.receiving.Unlock()
	if result := b.waiting.add(l); result != LetterDelivered {
		b.count[result].Add(1)
	}
}

// Listens reports whether the game has a function for a message of other rooms. Any goroutine may call it.
func (c *Core) Listens(name string) bool { return c.letterBox.funcs.find(name) != nil }

// close drops the letters that wait for a tick, and all later ones.
func (b *letterBox) close() {
	b.receiving.Lock()
	defer b.receiving.Unlock()
	b.count[LetterEnded].Add(uint64(b.waiting.close()))
}

func (b *letterBox) takeForTick() []Letter {
	b.receiving.Lock()
	defer b.receiving.Unlock()
	return b.waiting.takeFirst(lettersPerTick)
}

// readLetters calls the game's functions for the letters of one tick.
func (c *Core) readLetters() {
	for _, l := range c.letterBox.takeForTick() {
		f, err := c.letterBox.read(l)
		if err != nil {
			c.letterBox.count[LetterUnread].Add(1)
			c.noteUnread(l, err)
			continue
		}
		c.letterBox.count[LetterDelivered].Add(1)
		_, _ = c.callGame(&Call{hook: HookTold, run: func(w *world.World) ([]byte, error) {
			f(w, l.From)
			return nil, nil
		}}) // a panic is noted
	}
}

var errNoTold = errors.New("the game has no function for it in Hooks.Told")

// read returns the game's function with the content of a letter.
func (b *letterBox) read(l Letter) (func(w *world.World, from string), error) {
	t := b.funcs.find(l.Name)
	if t == nil {
		return nil, errNoTold
	}
	return t.read(l.Body)
}

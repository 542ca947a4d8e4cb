// Package outbox keeps effects of a world until a database has them, each exactly once.
//
// An effect on a player's account has two places: the world, where it applies at once, and the database, which may be slow
// or away. The Outbox is the way between them. Its entries are entities, so an effect and its entry survive a crash together,
// or neither does.
//
//	tick                          goroutine                        database
//	change the purse, Put   -->   Work: Room.Do takes a batch
//	                              (durable in the journal)   -->   Send: apply each ID once
//	Settle, entry is gone   <--   Room.Do                    <--   results
//
// A crash anywhere repeats a batch. The database keeps the IDs that it has applied, in the transaction of their effects, and
// skips them. No tick waits for it. Exactly once needs the journal mode JournalAlways.
//
// Accounts is an Outbox for accounts that players see.
package outbox

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"slices"
	"time"

	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/world"
)

const (
	maxBatch   = 100
	retryAfter = time.Second / 4
)

// ErrClosed reports that an Outbox takes no entry: it is full, or Work has not begun in this run of the world. A client that
// Hooks.Join refuses with it tries again.
var ErrClosed error = &wire.Error{Code: wire.ServerFull, Detail: "the outbox is closed"}

// errReplaced ends Work: the room has another world.
var errReplaced = errors.New("outbox: the room has another world")

// ID names an entry among the entries of all worlds.
type ID struct{ Run, Number uint64 }

// Entry is an effect that waits for the database.
type Entry[T any] struct {
	ID    ID
	Value T
}

// Outbox holds entries of a world. Except for Work, only Hooks, systems and functions of Room.Do may use it.
type Outbox[T any] struct {
	world   *world.World
	kind    world.KindID
	entries *world.Component[Entry[T]]
	books   *world.Component[book]
	most    int
	wake    chan struct{} // tells Work that there may be entries
}

// book is on one entity: the ID of the newest entry, and the entity as a number. In a world that begins again from an older image, and
// would give IDs twice, the entity has another handle, and World.RestoreRun renames no numbers. So the book is closed until Work opens it.
type book struct{ Run, Number, Entity uint64 }

// isOpen reports whether entries may have the book's run.
func (b *book) isOpen(e world.Entity) bool { return b.Run != 0 && b.Entity == uint64(e) }

// New adds an outbox of at most so many entries to a world, as the kind and component name, and the component name-book. T is as in
// world.Register.
func New[T any](w *world.World, name string, most int) (*Outbox[T], error) {
	kind, err := w.AddKind(world.Kind{Name: name})
	entries, err2 := world.Register[Entry[T]](w, name)
	books, err3 := world.Register[book](w, name+"-book")
	if err := errors.Join(err, err2, err3); err != nil {
		return nil, err
	}
	e, err := w.Spawn(kind, world.Vec3{}, world.Vec3{})
	books.Set(e, book{})
	return &Outbox[T]{w, kind, entries, books, most, make(chan struct{}, 1)}, err
}

// open gives later entries a run, unless they have one.
func (o *Outbox[T]) open(run uint64) {
	for e, b := range o.books.All() {
		if !b.isOpen(e) {
			o.books.Set(e, book{run, b.Number, uint64(e)})
		}
	}
}

// Len returns the number of entries that the database may not have.
func (o *Outbox[T]) Len() int { return o.entries.Presence().Count() }

// Put adds an entry. The database receives the entries of an outbox in their order. The error is ErrClosed, or that the world is
// full: then refuse what has the effect.
func (o *Outbox[T]) Put(value T) error {
	_, err := o.put(value)
	return err
}

func (o *Outbox[T]) put(value T) (ID, error) {
	for e, b := range o.books.All() {
		if !b.isOpen(e) || o.Len() >= o.most {
			break
		}
		entry, err := o.world.Spawn(o.kind, world.Vec3{}, world.Vec3{})
		if err != nil {
			return ID{}, err
		}
		now := o.books.Mut(e)
		now.Number++
		id := ID{now.Run, now.Number}
		o.entries.Set(entry, Entry[T]{id, value})
		select {
		case o.wake <- struct{}{}:
		default:
		}
		return id, nil
	}
	return ID{}, ErrClosed
}

// Work brings entries to the database until ctx ends, or the room has another world. Call it once, on a goroutine of its own, when the
// room of the outbox is attached.
//
// Send applies a batch in one transaction, skips the IDs that the database has, and returns a result for each entry. After an
// error, which it logs, it is called again with the same entries, and perhaps later ones behind them. Settle runs between two
// ticks for each entry that Send has applied, and may Put others.
func Work[T, R any](ctx context.Context, room *server.Room, o *Outbox[T], send func(context.Context, []Entry[T]) ([]R, error), settle func(Entry[T], R)) {
	run := randomRun()
	for begun := false; ctx.Err() == nil; {
		var oldest batch[T]
		// Do returns when the entries are durable in the journal: the database never has an effect that a crash takes back.
		err := o.do(ctx, room, func() {
			o.open(run)
			oldest = o.oldest()
		})
		if errors.Is(err, errReplaced) || begun && wire.CodeOf(err) == wire.NoRoom { // a room that is made again has another world
			return
		}
		begun = begun || err == nil
		var results []R
		if err == nil && len(oldest.entries) > 0 {
			results, err = send(ctx, oldest.entries)
		}
		if err == nil && len(results) > 0 {
			err = o.do(ctx, room, func() {
				for i, entry := range oldest.entries {
					o.entries.Remove(oldest.entities[i]) // makes room for what settle puts
					settle(entry, results[i])
					o.world.Destroy(oldest.entities[i])
				}
			})
		}
		if err != nil {
			o.await(ctx, time.After(retryAfter), nil)
		} else if len(oldest.entries) < maxBatch {
			o.await(ctx, nil, o.wake)
		}
	}
}

func (o *Outbox[T]) await(ctx context.Context, late <-chan time.Time, wake <-chan struct{}) {
	select {
	case <-ctx.Done():
	case <-late:
	case <-wake:
	}
}

// do runs f between two ticks of the world.
func (o *Outbox[T]) do(ctx context.Context, room *server.Room, f func()) error {
	return room.Do(ctx, func(w *world.World) error {
		if w != o.world {
			return errReplaced
		}
		f()
		return nil
	})
}

// batch is a number of entries, and their entities.
type batch[T any] struct {
	entities []world.Entity
	entries  []Entry[T]
}

// oldest returns the oldest entries, in their order.
func (o *Outbox[T]) oldest() (found batch[T]) {
	for e := range o.entries.All() {
		found.entities = append(found.entities, e)
	}
	slices.SortFunc(found.entities, func(x, y world.Entity) int {
		return cmp.Compare(o.entries.Get(x).ID.Number, o.entries.Get(y).ID.Number)
	})
	found.entities = found.entities[:min(len(found.entities), maxBatch)]
	for _, e := range found.entities {
		found.entries = append(found.entries, *o.entries.Get(e))
	}
	return found
}

// randomRun returns a number that no other run has. SQL holds it.
func randomRun() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // it does not fail
	return binary.LittleEndian.Uint64(b[:])>>1 | 1
}

package main

import (
	"cmp"
	"context"
	"log"
	"slices"
	"time"

	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/server/host"
	"github.com/worldd/worldd/world"
)

// Bank holds the effects that the database does not have yet. They are entities, so that images and
// the journal have them: an effect and its entry survive a crash together, or neither does.
type Bank struct {
	world   *world.World
	purses  *world.Component[Purse]
	entries *world.Component[Entry]
	books   *world.Component[book]
	kind    world.KindID
	wake    chan struct{} // tells Work that there may be entries
}

// Entry is an effect on a player's account, or with Loads the question what is in it.
type Entry struct {
	Run, Number uint64 // unique together, among all worlds: the database applies each entry once
	Player      string
	Purse       world.Entity // it has the effect, or is to be loaded
	Loads       bool
	Coins, Hats int64
}

// book is on one entity.
type book struct{ Run, Number uint64 } // of the newest entry

// maxEntries bounds the entries while the database is away.
const maxEntries = 5_000

var (
	errClosed  = &server.Rejection{Text: "the bank is closed: try again later"}
	errTooFew  = &server.Rejection{Text: "too few coins"}
	errLoading = &server.Rejection{Text: "your purse comes soon"}
)

// NewBank registers the bank's components in a world.
func NewBank(w *world.World, purses *world.Component[Purse], run uint64) *Bank {
	b := &Bank{
		world: w, purses: purses,
		entries: host.Must(world.Register[Entry](w, "entry")), books: host.Must(world.Register[book](w, "book")),
		kind: host.Must(w.AddKind(world.Kind{Name: "entry"})), wake: make(chan struct{}, 1),
	}
	b.books.Set(host.Must(w.Spawn(b.kind, world.Vec3{}, world.Vec3{})), book{Run: run})
	return b
}

// BeginRun is for a world that begins again from an older image, and would give numbers twice: later entries have
// another run. Entries of the image stay as they are, since the database may have them.
func (b *Bank) BeginRun(run uint64) {
	for e := range b.books.All() {
		b.books.Mut(e).Run = run
	}
}

// Len returns the number of entries that the database may not have.
func (b *Bank) Len() int { return b.entries.Presence().Count() }

// Change changes what is in a purse, now, and its account in the database, soon.
func (b *Bank) Change(purse world.Entity, coins, hats int64) error {
	p := b.purses.Get(purse)
	if p == nil || !p.Loaded {
		return errLoading
	}
	left := Purse{Player: p.Player, Loaded: true, Coins: p.Coins + coins, Hats: p.Hats + hats}
	if left.Coins < 0 {
		return errTooFew
	}
	err := b.enter(Entry{Player: p.Player, Purse: purse, Coins: coins, Hats: hats})
	if err == nil {
		b.purses.Set(purse, left)
	}
	return err
}

// Load asks what is in a player's account. The answer follows the effects of the player's earlier sessions.
func (b *Bank) Load(purse world.Entity) error {
	return b.enter(Entry{Player: b.purses.Get(purse).Player, Purse: purse, Loads: true})
}

func (b *Bank) enter(entry Entry) error {
	if b.Len() >= maxEntries {
		return errClosed
	}
	e, err := b.world.Spawn(b.kind, world.Vec3{}, world.Vec3{})
	if err != nil {
		return err
	}
	b.append(e, entry)
	return nil
}

// append makes an entry the newest one, on the entity e.
func (b *Bank) append(e world.Entity, entry Entry) {
	for books := range b.books.All() {
		now := b.books.Mut(books)
		now.Number++
		entry.Run, entry.Number = now.Run, now.Number
	}
	b.entries.Set(e, entry)
	b.Wake()
}

// Wake lets Work look for entries.
func (b *Bank) Wake() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// batch is a number of entries, with their entities.
type batch struct {
	entities []world.Entity
	entries  []Entry
	results  []Result // for each entry
}

const maxBatch = 100

// Work brings entries to the database, the oldest first, and their answers back, until ctx ends.
func (b *Bank) Work(ctx context.Context, room *server.Room, accounts *Accounts) {
	for ctx.Err() == nil {
		n, err := b.transfer(ctx, room, accounts)
		switch {
		case err != nil:
			log.Printf("the bank tries again: %v", err)
			select {
			case <-ctx.Done():
			case <-time.After(time.Second / 4):
			}
		case n < maxBatch:
			select {
			case <-ctx.Done():
			case <-b.wake:
			}
		}
	}
}

// transfer transfers one batch. It may fail anywhere, and be repeated: no entry counts twice.
func (b *Bank) transfer(ctx context.Context, room *server.Room, accounts *Accounts) (int, error) {
	var oldest batch
	// Do returns when the entries are durable in the journal: the database never has an effect that a crash takes back.
	err := room.Do(ctx, func(*world.World) error {
		oldest = b.oldest()
		return nil
	})
	if err != nil || len(oldest.entries) == 0 {
		return 0, err
	}
	if oldest.results, err = accounts.Apply(ctx, oldest.entries); err != nil {
		return 0, err
	}
	return len(oldest.entries), room.Do(ctx, func(*world.World) error {
		b.settle(oldest)
		return nil
	})
}

// oldest returns the oldest entries, in their order.
func (b *Bank) oldest() (found batch) {
	for e := range b.entries.All() {
		found.entities = append(found.entities, e)
	}
	slices.SortFunc(found.entities, func(x, y world.Entity) int { return cmp.Compare(b.entries.Get(x).Number, b.entries.Get(y).Number) })
	found.entities = found.entities[:min(len(found.entities), maxBatch)]
	for _, e := range found.entities {
		found.entries = append(found.entries, *b.entries.Get(e))
	}
	return found
}

// settle fills the purses, and forgets the entries. A purse with an effect that the database has refused is wrong, so
// it is loaded again: the effect's entry becomes the question, which follows all effects of the purse.
func (b *Bank) settle(done batch) {
	for i, e := range done.entities {
		entry, result := done.entries[i], done.results[i]
		p := b.purses.Get(entry.Purse) // nil: the player has left
		switch {
		case p != nil && entry.Loads:
			b.purses.Set(entry.Purse, Purse{Player: p.Player, Loaded: true, Coins: result.Coins, Hats: result.Hats})
		case p != nil && result.Refused && p.Loaded: // otherwise the question waits already
			b.purses.Set(entry.Purse, Purse{Player: p.Player})
			b.append(e, Entry{Player: entry.Player, Purse: entry.Purse, Loads: true})
			continue
		}
		b.world.Destroy(e)
	}
}

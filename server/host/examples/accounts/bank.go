package main

import (
	"context"
	"log"

	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/server/host"
	"github.com/worldd/worldd/server/outbox"
	"github.com/worldd/worldd/world"
)

// Bank keeps purses and accounts equal. The effects that the database does not have yet are in its outbox.
type Bank struct {
	purses *world.Component[Purse]
	out    *outbox.Outbox[Effect]
}

// Effect is a change of a player's account, or with Loads the question what is in it.
type Effect struct {
	Player      string
	Purse       world.Entity // it has the effect, or is to be loaded
	Loads       bool
	Coins, Hats int64
}

// maxEffects bounds the effects that wait while the database is away.
const maxEffects = 5_000

var (
	errClosed  = &server.Rejection{Text: "the bank is closed: try again later"}
	errTooFew  = &server.Rejection{Text: "too few coins"}
	errLoading = &server.Rejection{Text: "your purse comes soon"}
)

// NewBank registers the bank's components in a world.
func NewBank(w *world.World, purses *world.Component[Purse]) *Bank {
	return &Bank{purses, host.Must(outbox.New[Effect](w, "effect", maxEffects))}
}

// Change changes what is in a purse, now, and its account in the database, soon.
func (b *Bank) Change(purse world.Entity, coins, hats int64) error {
	p := b.purses.Get(purse)
	switch {
	case p == nil || !p.Loaded:
		return errLoading
	case p.Coins+coins < 0:
		return errTooFew
	case b.out.Put(Effect{Player: p.Player, Purse: purse, Coins: coins, Hats: hats}) != nil:
		return errClosed
	}
	p = b.purses.Mut(purse)
	p.Coins, p.Hats = p.Coins+coins, p.Hats+hats
	return nil
}

// Load asks what is in a player's account. The answer follows the effects of the player's earlier sessions.
func (b *Bank) Load(purse world.Entity) error {
	p := b.purses.Mut(purse)
	p.Loaded = false
	return b.out.Put(Effect{Player: p.Player, Purse: purse, Loads: true})
}

// Work brings effects to the database, and its answers to the purses, until ctx ends.
func (b *Bank) Work(ctx context.Context, room *server.Room, accounts *Accounts) {
	outbox.Work(ctx, room, b.out, func(ctx context.Context, effects []outbox.Entry[Effect]) ([]Result, error) {
		results, err := accounts.Apply(ctx, effects)
		if err != nil {
			log.Printf("the bank tries again: %v", err)
		}
		return results, err
	}, b.settle)
}

// settle fills the purse. A purse with an effect that the database has refused is wrong: it is loaded again, after all its effects.
func (b *Bank) settle(e outbox.Entry[Effect], result Result) {
	p := b.purses.Mut(e.Value.Purse) // nil: the player has left
	switch {
	case p != nil && e.Value.Loads:
		p.Loaded, p.Coins, p.Hats = true, result.Coins, result.Hats
	case p != nil && result.Refused && p.Loaded: // otherwise the question waits already
		_ = b.Load(e.Value.Purse) // its own entry has made room
	}
}

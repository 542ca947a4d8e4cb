package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/server/host"
	"github.com/worldd/worldd/server/outbox"
	"github.com/worldd/worldd/world"
)

// Lobby is where players spend their coins, and queue for matches. It alone has their accounts: no account is in two worlds.
type Lobby struct {
	*Place
	purses   *world.Component[Purse]
	accounts *outbox.Accounts[Purse, Effect]
}

// maxChanges bounds the changes of accounts that wait while the database is away.
const maxChanges = 5_000

// NewLobby makes the lobby.
func NewLobby(o host.Options, db *Database) (*Lobby, *host.Instance, error) {
	l := &Lobby{Place: newPlace(o)}
	l.purses = host.Must(server.Register(l.world, Purses))
	l.accounts = host.Must(outbox.NewAccounts(l.world, l.purses, maxChanges, (*Purse).take))
	schema.Define[Purse](l.schema, Purses.Name())
	schema.DefineCommand[Mine](l.schema, MineCommand.Name())
	schema.DefineCommand[Buy](l.schema, BuyCommand.Name())
	schema.DefineCommand[Queue](l.schema, QueueCommand.Name())
	g := l.instance(server.Hooks{
		Join: l.join,
		Commands: []server.Command{
			server.OnCommand(MineCommand, func(s *server.Session, _ world.Entity, _ Mine) error {
				return l.accounts.Change(s.Entity(), Effect{Coins: 1})
			}),
			server.OnCommand(BuyCommand, func(s *server.Session, _ world.Entity, _ Buy) error {
				return l.accounts.Change(s.Entity(), Effect{Coins: -hatPrice, Hats: 1})
			}),
			server.OnCommand(QueueCommand, func(s *server.Session, _ world.Entity, _ Queue) error {
				l.guests.Mut(s.Entity()).Waits = true
				return nil
			}),
		},
		Signals: []server.Signal{
			// The web shop sends it after it has changed an account. It may repeat it.
			server.OnSignal("refresh", func(_ *world.World, player string) (struct{}, error) { return struct{}{}, l.accounts.Refresh(player) }),
			// How many changes does the database not have?
			server.OnSignal("waiting", func(*world.World, struct{}) (int, error) { return l.accounts.Len(), nil }),
		},
	})
	g.Attach = func(r *server.Room) {
		l.room = r
		go l.accounts.Work(context.Background(), r, db.Apply) // ends with the room
	}
	return l, g, errors.Join(l.world.AddSystem(world.After, "call", l.call), l.world.AddSystem(world.After, "send", l.send))
}

// join asks for the player's account, to which the prize goes of a player who has won. If the accounts are closed, a new client
// tries again, and one from a match waits there.
func (l *Lobby) join(s *server.Session) (world.Entity, error) {
	var earned Effect
	if hasWon(s) {
		earned = Effect{Coins: prize, Wins: 1}
	}
	e, err := l.enter(Guest{})
	if err == nil {
		err = l.accounts.Open(e, s.User(), earned)
	}
	if err != nil {
		l.world.Destroy(e)
		return 0, err
	}
	s.SetValue(false)
	return e, nil
}

// call pairs two who wait. It reads no session, so a replay repeats it.
func (l *Lobby) call(w *world.World) {
	var pair []world.Entity
	for e, g := range l.guests.All() {
		if g.Waits && len(pair) < 2 {
			pair = append(pair, e)
		}
	}
	for _, e := range pair {
		if len(pair) == 2 {
			l.guests.Set(e, Guest{Match: w.Tick()})
		}
	}
}

// send moves those who were called in this tick. It changes nothing in the world.
func (l *Lobby) send(w *world.World) {
	for s := range l.room.Sessions() {
		if g := l.guests.Get(s.Entity()); g != nil && g.Match == w.Tick() {
			_ = s.Move(fmt.Sprint("match/", g.Match)) // refused: the player queues again
		}
	}
}

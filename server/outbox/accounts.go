package outbox

import (
	"context"
	"errors"

	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/world"
)

// ErrLoading reports that a player's account is not there yet.
var ErrLoading error = &server.Rejection{Text: "your account comes soon: try again"}

// Accounts keeps components of type A on players' entities equal with the players' accounts in a database. An entity has the component
// once the database has said what is in the account. An effect of type E changes the component at once, and the database soon.
//
// Only one world may have a player's account at a time. Except for Work, only Hooks, systems and functions of Room.Do may use Accounts.
type Accounts[A, E any] struct {
	out     *Outbox[Change[E]]
	shown   *world.Component[A]
	holders *world.Component[holder]
	apply   func(*A, E) error
}

// Change is an effect on a player's account. The zero effect only asks for the account.
type Change[E any] struct {
	User   string
	Player world.Entity // has the component, unless the player has left
	Effect E
}

// Answer is the answer of a database to a Change.
type Answer[A any] struct {
	Account A    // after the Change
	Refused bool // the account could not take the effect, since something else has changed it
}

// holder is on the entity of each player with an account.
type holder struct {
	User string
	Last ID // ID of the player's newest entry; the answer to that entry includes the effects of all earlier ones
}

// NewAccounts adds accounts to a world, with at most so many changes that the database does not have. apply is a rule of the game, which
// repeats nothing and is called with a copy: it changes an account, or returns why it cannot.
func NewAccounts[A, E any](w *world.World, shown *world.Component[A], most int, apply func(*A, E) error) (*Accounts[A, E], error) {
	out, err := New[Change[E]](w, "account-change", most)
	holders, err2 := world.Register[holder](w, "account-holder")
	return &Accounts[A, E]{out, shown, holders, apply}, errors.Join(err, err2)
}

// Open gives an entity the account of a user, soon. earned goes to the account before: an effect that the player brings from
// another room, or zero. The account follows all effects of the user's earlier entities, so a player who leaves and returns at once finds
// every coin. The error is as for Put: then nothing has happened.
func (a *Accounts[A, E]) Open(player world.Entity, user string, earned E) error {
	return a.put(Change[E]{user, player, earned})
}

// Change applies an effect to a player's account. The error is apply's, ErrLoading, or as for Put: then nothing has changed.
func (a *Accounts[A, E]) Change(player world.Entity, effect E) error {
	h, shown := a.holders.Get(player), a.shown.Get(player)
	if h == nil || shown == nil {
		return ErrLoading
	}
	changed := *shown
	if err := a.apply(&changed, effect); err != nil {
		return err
	}
	if err := a.put(Change[E]{h.User, player, effect}); err != nil {
		return err
	}
	a.shown.Set(player, changed)
	return nil
}

// Refresh asks the database again, after a web shop has changed the account of a user, for example. A user who is not there needs nothing.
func (a *Accounts[A, E]) Refresh(user string) error {
	for player, h := range a.holders.All() {
		if h.User == user {
			var nothing E
			return a.Open(player, user, nothing)
		}
	}
	return nil
}

// put makes the change the newest one of its player.
func (a *Accounts[A, E]) put(c Change[E]) error {
	id, err := a.out.put(c)
	if err == nil {
		a.holders.Set(c.Player, holder{c.User, id})
	}
	return err
}

// Len returns the number of changes that the database may not have.
func (a *Accounts[A, E]) Len() int { return a.out.Len() }

// Work is as the function Work. A refused effect stays undone: the database should set it aside for people to decide.
func (a *Accounts[A, E]) Work(ctx context.Context, room *server.Room, send func(context.Context, []Entry[Change[E]]) ([]Answer[A], error)) {
	Work(ctx, room, a.out, send, a.settle)
}

// settle corrects the component. After a refusal it is wrong, and gone until the answer to the player's newest entry.
func (a *Accounts[A, E]) settle(e Entry[Change[E]], answer Answer[A]) {
	player := e.Value.Player
	switch h := a.holders.Get(player); {
	case h == nil: // the player has left
	case h.Last == e.ID:
		a.shown.Set(player, answer.Account)
	case answer.Refused:
		a.shown.Remove(player)
	}
}

package outbox_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/outbox"
	"github.com/worldd/worldd/world"
)

type purse struct{ Coins int64 }

var errPoor = errors.New("too few coins")

func (p *purse) take(coins int64) error {
	p.Coins += coins // a copy
	if p.Coins < 0 {
		return errPoor
	}
	return nil
}

// vault is a database whose every second answer is lost.
type vault struct {
	mu       sync.Mutex
	accounts map[string]int64
	answers  map[outbox.ID]outbox.Answer[purse]
	calls    int
	asked    chan int      // the number of changes that it takes once it is told to
	told     chan struct{} // closed: it always takes them
}

func newVault(coins int64) *vault {
	return &vault{accounts: map[string]int64{"ann": coins}, answers: map[outbox.ID]outbox.Answer[purse]{}, asked: make(chan int), told: make(chan struct{})}
}

// take takes n changes. It does so twice, since the first answer is lost. between runs before the answer that is not.
func (v *vault) take(t *testing.T, n int, between func()) {
	require.Equal(t, n, <-v.asked)
	v.told <- struct{}{}
	require.Equal(t, n, <-v.asked)
	between()
	v.told <- struct{}{}
}

func (v *vault) send(ctx context.Context, changes []outbox.Entry[outbox.Change[int64]]) ([]outbox.Answer[purse], error) {
	select {
	case v.asked <- len(changes):
		<-v.told
	case <-v.told:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	answers := make([]outbox.Answer[purse], len(changes))
	for i, c := range changes {
		_, known := v.answers[c.ID]
		refused := v.answers[c.ID].Refused
		if coins := v.accounts[c.Value.User] + c.Value.Effect; !known && coins >= 0 {
			v.accounts[c.Value.User] = coins
		} else if !known {
			refused = true
		}
		answers[i] = outbox.Answer[purse]{Account: purse{v.accounts[c.Value.User]}, Refused: refused}
		v.answers[c.ID] = answers[i]
	}
	v.calls++
	if v.calls%2 == 1 {
		return nil, errors.New("the answer is lost")
	}
	return answers, nil
}

func (v *vault) set(user string, coins int64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.accounts[user] = coins
}

// bank is a world with accounts, in a server.
type bank struct {
	*game
	kind     world.KindID
	purses   *world.Component[purse]
	accounts *outbox.Accounts[purse, int64]
}

func openBank(t *testing.T, v *vault) *bank {
	w := must.Get(world.New(world.Config{}))
	b := &bank{game: &game{T: t, world: w}, kind: must.Get(w.AddKind(world.Kind{Name: "player"})), purses: must.Get(world.Register[purse](w, "purse"))}
	b.accounts = must.Get(outbox.NewAccounts(w, b.purses, 100, (*purse).take))
	b.serve()
	ctx, stop := context.WithCancel(t.Context())
	worked := make(chan struct{})
	go func() {
		defer close(worked)
		b.accounts.Work(ctx, b.server.Room(), v.send)
	}()
	t.Cleanup(func() {
		stop()
		<-worked
	})
	return b
}

// enter spawns a player's entity, and opens its account with what the player has earned elsewhere.
func (b *bank) enter(user string, earned int64) (e world.Entity) {
	require.Eventually(b, func() bool {
		var err error
		b.do(func() {
			e = must.Get(b.world.Spawn(b.kind, world.Vec3{}, world.Vec3{}))
			if err = b.accounts.Open(e, user, earned); err != nil {
				b.world.Destroy(e)
			}
		})
		return err == nil // otherwise Work has not begun
	}, time.Minute, time.Millisecond)
	return e
}

// has waits until the database has all changes.
func (b *bank) has(player world.Entity, coins int64) {
	require.Eventually(b, func() (settled bool) {
		b.do(func() { settled = b.accounts.Len() == 0 })
		return settled
	}, time.Minute, time.Millisecond)
	require.Equal(b, coins, b.shown(player))
}

// shown returns what is in a purse, or -1 if there is none.
func (b *bank) shown(player world.Entity) (coins int64) {
	b.do(func() {
		coins = -1
		if p := b.purses.Get(player); p != nil {
			coins = p.Coins
		}
	})
	return coins
}

func (b *bank) change(player world.Entity, coins int64) (err error) {
	b.do(func() { err = b.accounts.Change(player, coins) })
	return err
}

// A player has the account after all effects of the last visit, and what it brings.
func TestAccounts(t *testing.T) {
	v := newVault(10)
	close(v.told)
	b := openBank(t, v)
	ann := b.enter("ann", 0)
	b.has(ann, 10)
	require.ErrorIs(t, b.change(ann, -11), errPoor)
	b.has(ann, 10)
	for range 5 {
		require.NoError(t, b.change(ann, -1))
	}
	require.Equal(t, int64(5), b.shown(ann), "at once")
	b.do(func() { b.world.Destroy(ann) })
	again := b.enter("ann", 3)
	b.has(again, 8)
	require.ErrorIs(t, b.change(ann, 1), outbox.ErrLoading, "the entity of the last visit")
	require.Equal(t, int64(8), v.accounts["ann"])
}

// Something else spends coins that a purse shows. The purse is closed until the database has told what is left after all changes.
func TestRefusedChange(t *testing.T) {
	v := newVault(10)
	b := openBank(t, v)
	ann := b.enter("ann", 0)
	require.ErrorIs(t, b.change(ann, 1), outbox.ErrLoading)
	v.take(t, 1, func() {})
	b.has(ann, 10)
	v.set("ann", 3)
	require.NoError(t, b.change(ann, -5))
	v.take(t, 1, func() { require.NoError(t, b.change(ann, -2)) })
	require.Eventually(t, func() bool { return b.shown(ann) == -1 }, time.Minute, time.Millisecond)
	require.ErrorIs(t, b.change(ann, 1), outbox.ErrLoading)
	close(v.told)
	b.has(ann, 1)
	require.NoError(t, b.change(ann, -1))
	b.has(ann, 0)

	v.set("ann", 70)
	var errs []error
	b.do(func() {
		errs = append(errs, b.accounts.Refresh("ann"), b.accounts.Refresh("nobody"), b.accounts.Change(ann, 5)) // of what it shows meanwhile
	})
	require.NoError(t, errors.Join(errs...))
	b.has(ann, 75)
}

// A change that the outbox does not take changes nothing.
func TestFullAccounts(t *testing.T) {
	v := newVault(1000)
	b := openBank(t, v)
	ann := b.enter("ann", 0)
	v.take(t, 1, func() {})
	b.has(ann, 1000)
	for range 100 {
		require.NoError(t, b.change(ann, -1))
	}
	require.ErrorIs(t, b.change(ann, -1), outbox.ErrClosed)
	require.Equal(t, int64(900), b.shown(ann))
	close(v.told)
	b.has(ann, 900)
}

// An entity that has not been opened has no account, and a client that comes before Work begins tries again.
func TestAccountsBeforeOpen(t *testing.T) {
	w := must.Get(world.New(world.Config{}))
	purses := must.Get(world.Register[purse](w, "purse"))
	accounts := must.Get(outbox.NewAccounts(w, purses, 100, (*purse).take))
	e := must.Get(w.Spawn(must.Get(w.AddKind(world.Kind{Name: "player"})), world.Vec3{}, world.Vec3{}))
	require.Equal(t, wire.ServerFull, wire.CodeOf(accounts.Open(e, "ann", 0)))
	purses.Set(e, purse{5})
	require.ErrorIs(t, accounts.Change(e, -1), outbox.ErrLoading)
	require.Equal(t, purse{5}, *purses.Get(e))
}

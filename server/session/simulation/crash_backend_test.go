package simulation

import (
	"context"
	"errors"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/server/session"
	"github.com/worldd/worldd/world"
)

// Ledger holds what a backend has granted: an order counts once.
type Ledger struct{ Count, Newest uint64 }

// crashBackend sends orders to the server one after the other, by Core.Post, and repeats each until it is answered.
type crashBackend struct {
	s        *crashSim
	treasury bulk.Handle // has the Ledger
	order    uint64      // the present one
	call     *session.Call
	giveUp   context.CancelFunc
	waits    int    // ticks until it gives up
	unsure   bool   // an earlier attempt of the present order may have run
	answered uint64 // newest order whose effects cannot be lost

	answers, unknown, notRun int
}

// act sends an order, or looks for its result.
func (b *crashBackend) act() {
	switch {
	case b.call == nil && b.s.rng.IntN(3) == 0:
		b.post()
		if b.s.rng.IntN(8) == 0 {
			b.readResult() // before the tick
		}
	case b.call == nil:
	case b.waits > 0:
		b.waits--
	default:
		b.readResult()
	}
}

func (b *crashBackend) post() {
	if b.order == b.answered {
		b.order++
		b.unsure = false
	}
	order, ledger := b.order, b.s.ledger
	var ctx context.Context
	ctx, b.giveUp = context.WithCancel(context.Background())
	b.call = b.s.core.Post(ctx, func(*world.World) error {
		l := ledger.Mut(b.treasury)
		if l.Newest < order {
			*l = Ledger{l.Count + 1, order}
		}
		return nil
	})
	b.waits = b.s.rng.IntN(5)
}

// readResult reads the result of the call, which it gives up if there is none.
func (b *crashBackend) readResult() {
	b.giveUp()
	_, err := b.call.Await()
	b.call = nil
	switch {
	case err == nil:
		b.answered = b.order
		b.answers++
	case errors.Is(err, session.ErrOutcomeUnknown):
		b.unsure = true
		b.unknown++
	case errors.Is(err, session.ErrNotRun):
		b.notRun++
	default:
		b.s.fail("order %d: %v", b.order, err)
	}
	b.verify()
}

// verify checks that no order is lost that was answered (J1), that none counts twice (J5), and that none has run of
// which this was denied.
func (b *crashBackend) verify() {
	l := b.s.ledger.Get(b.treasury)
	if l == nil {
		b.s.fail("the treasury is gone")
		return
	}
	if l.Count != l.Newest || l.Newest < b.answered {
		b.s.fail("%d orders up to %d count, and order %d was answered", l.Count, l.Newest, b.answered)
	}
	if b.call == nil && !b.unsure && l.Newest > b.answered {
		b.s.fail("order %d counts, which has not run", l.Newest)
	}
}

package client_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/replication/wire"
)

// An entity fits into one cache line, and four cells do.
func TestSizes(t *testing.T) {
	require.LessOrEqual(t, client.SizeOfEntity, uintptr(64))
	require.LessOrEqual(t, client.SizeOfCell, uintptr(16))
}

// An *Entity kept after its Leave does not change, even if another entity takes its slot.
func TestEntityStaysItself(t *testing.T) {
	p := newReplicaServer(t, 1, 100)
	p.send(p.enter(h(5, 1), 7))
	held := p.replica.Entity(h(5, 1))
	p.apply(client.Applied, p.state(1, 1, update{h: h(5, 1), age: entered, base: 7, now: 8}))
	p.send(leave(h(5, 1)))
	for generation := uint32(3); generation < 99; generation += 2 {
		p.send(p.enter(h(5, generation), 100+generation), destroy(h(5, generation)))
		p.send(p.enter(h(6, generation), 200+generation), leave(h(6, generation)))
	}
	require.Equal(t, h(5, 1), held.Handle())
	require.EqualValues(t, 3, held.Kind())
	require.EqualValues(t, 101, held.Tick())
	require.Equal(t, row(8).Values, held.AppendValues(nil))
	v := must.Have(p.health.Get(held))
	require.EqualValues(t, 8, v.Points)
}

// An Enter after the handle's Destroy is a protocol error, in the same message or a later one.
// A model of only this rule agrees on random messages about few slots, and rejected messages
// change nothing.
func TestRecordsAreChecked(t *testing.T) {
	const slots = 6
	type fate struct {
		generation uint32
		dead       bool
	}
	random := rand.New(rand.NewPCG(1, 2))
	p := newReplicaServer(t, 1, slots)
	p.replica = client.NewApplier(p.codec, 1, slots, client.Observer{})
	var model [slots]fate
	refused := 0
	for range 3000 {
		next, breach := model, false
		var records []wire.Record
		for range 1 + random.IntN(5) {
			slot := random.Uint32N(slots)
			s := &next[slot]
			g := max(s.generation, 3) - 2 + 2*random.Uint32N(3) // an earlier one, the newest, or the next
			handle := h(slot, g)
			switch random.IntN(4) {
			case 0:
				records = append(records, leave(handle))
			case 1:
				records = append(records, destroy(handle))
				if g >= s.generation {
					*s = fate{g, true}
				}
			default:
				records = append(records, p.enter(handle, 1))
				if g > s.generation {
					*s = fate{g, false}
				} else if g == s.generation && s.dead {
					breach = true
				}
			}
		}
		number, digest := p.number, p.replica.Digest()
		err := p.replica.ApplyStructure(p.structure(records...))
		if breach {
			require.ErrorIs(t, err, &wire.Error{Code: wire.BadMessage})
			require.Equal(t, digest, p.replica.Digest())
			p.number = number
			refused++
			continue
		}
		require.NoError(t, err)
		require.Equal(t, p.replica.CountedBytes(), p.replica.KeptBytes())
		model = next
	}
	require.Greater(t, refused, 100)
	require.Less(t, refused, 2900)
}

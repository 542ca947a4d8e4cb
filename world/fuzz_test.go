package world_test

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/field"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/world"
)

// fuzzedBytes reads commands from fuzzed bytes; past their end it reads zeros.
type fuzzedBytes struct{ b []byte }

func (t *fuzzedBytes) byte() byte {
	if len(t.b) == 0 {
		return 0
	}
	c := t.b[0]
	t.b = t.b[1:]
	return c
}

func (t *fuzzedBytes) uint32() uint32 {
	return binary.LittleEndian.Uint32([]byte{t.byte(), t.byte(), t.byte(), t.byte()})
}

// number is mostly small, but can be any float.
func (t *fuzzedBytes) number() float32 {
	if c := t.byte(); c != 0xff {
		return float32(int8(c)) / 2
	}
	return math.Float32frombits(t.uint32())
}

func (t *fuzzedBytes) vec() world.Vec3 {
	return world.Vec3{X: t.number(), Y: t.number(), Z: t.number()}
}

// handle mostly has a low slot and generation, and is sometimes forged.
func (t *fuzzedBytes) handle() bulk.Handle {
	if c := t.byte(); c != 0xff {
		return bulk.NewHandle(uint32(c&15), uint32(c>>4)|1)
	}
	return bulk.NewHandle(t.uint32(), t.uint32())
}

func FuzzWorld(f *testing.F) {
	f.Add([]byte{0, 0, 4, 4, 4, 0, 0, 0, 5, 14, 14, 9, 0, 0, 1, 1, 1, 0, 14, 13, 0})
	f.Add([]byte{8, 1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 14, 2, 0x10, 7, 0x10, 14, 6, 0x10, 14})
	programs := []*field.Program{compile(f, gust), compile(f, blast), compile(f, updraft)}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 800 {
			t.Skip("long enough")
		}
		w, _, _, _ := newWorld(t, world.Config{MaxEntities: 40, HalfExtent: world.Vec3{X: 40, Y: 30, Z: 24}, RestSeconds: 3.0 / 60})
		hp := must.Get(world.Register[health](w, "health"))
		require.NoError(t, world.SetDefault(w, 0, hp, health{Max: 5}))
		in := &fuzzedBytes{b}
		for len(in.b) > 0 {
			command(w, hp, programs, in)
			require.NoError(t, w.CheckInvariants())
		}
	})
}

func command(w *world.World, hp *world.Component[health], programs []*field.Program, in *fuzzedBytes) {
	switch in.byte() % 16 {
	case 0, 1:
		_, _ = w.SpawnFor(world.KindID(in.byte()%4), in.vec(), in.vec(), uint32(in.byte()))
	case 2:
		w.Destroy(in.handle())
	case 3:
		w.SetPosition(in.handle(), in.vec())
	case 4:
		w.SetVelocity(in.handle(), in.vec())
	case 5:
		w.Impulse(in.handle(), in.vec())
	case 6:
		w.Wake(in.handle())
	case 7:
		w.Sleep(in.handle())
	case 8:
		_, _ = w.AddEffect(world.EffectDef{
			Program: programs[int(in.byte())%len(programs)], Mode: world.EffectMode(in.byte() % 3), Center: in.vec(), LifeTicks: uint32(in.byte()),
		})
	case 9:
		w.MoveEffect(in.handle(), in.vec())
	case 10:
		w.SetEffectParams(in.handle(), []field.Vec4{{in.number(), in.number(), in.number(), in.number()}})
	case 11:
		w.RemoveEffect(in.handle())
	case 12:
		hp.Set(in.handle(), health{Current: int16(in.byte())})
		hp.Remove(in.handle())
	case 13:
		for e := range w.Within(in.vec(), in.number()) {
			switch in.byte() % 4 {
			case 0:
				w.Destroy(e)
			case 1:
				w.SetPosition(e, in.vec())
			case 2:
				_, _ = w.Spawn(0, in.vec(), world.Vec3{})
			}
			if in.byte() >= 200 {
				break
			}
		}
	default:
		w.Step()
	}
}

package world_test

import (
	"bytes"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/world"
)

type badge struct {
	Level uint8
	Name  string
	Slots [2]struct{ Item []byte }
}

func badgeOf(name, first, second string) (b badge) {
	b.Level, b.Name = uint8(len(name)), name
	b.Slots[0].Item, b.Slots[1].Item = []byte(first), []byte(second)
	return b
}

// texts returns all texts of a badge.
func (b *badge) texts() []string {
	if b == nil {
		return nil
	}
	return []string{b.Name, string(b.Slots[0].Item), string(b.Slots[1].Item)}
}

// badgeWorld is a world of one bodiless kind whose component has texts.
func badgeWorld(t testing.TB) (*world.World, *world.Component[badge]) {
	w := must.Get(world.New(world.Config{MaxEntities: 500}))
	addKind(t, w, world.Kind{Name: "player"})
	c := must.Get(world.Register[badge](w, "badge"))
	return w, c
}

func TestTextsShareNoMemoryWithTheCaller(t *testing.T) {
	w, c := badgeWorld(t)
	item := []byte("axe")
	of := func() (b badge) {
		b.Slots[0].Item = item
		return b
	}
	require.NoError(t, world.SetDefault(w, 0, c, of()))
	byDefault, another, bySet, deferred := spawn(t, w, 0, world.Vec3{}), spawn(t, w, 0, world.Vec3{}), spawn(t, w, 0, world.Vec3{}), spawn(t, w, 0, world.Vec3{})
	c.Set(bySet, of())
	c.DeferSet(deferred, of())
	copy(item, "???")
	w.Step()
	for what, e := range map[string]world.Entity{"default": byDefault, "set": bySet, "deferred": deferred} {
		require.Equal(t, "axe", string(c.Get(e).Slots[0].Item), what)
	}
	copy(c.Mut(byDefault).Slots[0].Item, "bow")
	require.Equal(t, "axe", string(c.Get(another).Slots[0].Item), "each entity has a copy of its own")
	late := spawn(t, w, 0, world.Vec3{})
	require.Equal(t, "axe", string(c.Get(late).Slots[0].Item), "and so has the default")
}

func TestTextsAreStateAndHashed(t *testing.T) {
	w, c := badgeWorld(t)
	e := spawn(t, w, 0, world.Vec3{})
	seen := map[uint64]string{}
	for _, b := range []badge{badgeOf("", "", ""), badgeOf("a", "", ""), badgeOf("b", "", ""), badgeOf("", "a", ""), badgeOf("", "", "a"), badgeOf("", "aa", "")} {
		b.Level = 0
		c.Set(e, b)
		require.NotContains(t, seen, w.StateHash(), b.texts())
		seen[w.StateHash()] = b.Name
	}
	c.Set(e, badge{})
	require.Contains(t, seen, w.StateHash(), "an empty []byte is like none")
}

// An image keeps the texts of its moment: through a file, for a rewind and for a new run.
// The restored world does not share their memory.
func TestImagesKeepTexts(t *testing.T) {
	for _, prepared := range []bool{false, true} {
		w, c := badgeWorld(t)
		var all []world.Entity
		for i := range 200 {
			e := spawn(t, w, 0, world.Vec3{})
			all = append(all, e)
			if i%3 != 0 {
				c.Set(e, badgeOf(strings.Repeat("n", i%7), strings.Repeat("x", i), "y"))
			}
		}
		w.Step()
		var img world.Image
		if prepared {
			w.PrepareImage(&img)
			c.Mut(all[1]).Name = "changed after it was copied ahead"
			c.Mut(all[2]).Slots[1].Item[0] = 'z'
			c.Remove(all[4])
			w.Step()
		}
		w.TakeImage(&img)
		want := map[world.Entity][]string{}
		for _, e := range all {
			want[e] = c.Get(e).texts()
		}
		hash := w.StateHash()
		var file, again bytes.Buffer
		must.Get(img.WriteTo(&file))
		for _, e := range all { // the image is not the world
			if b := c.Mut(e); b != nil && len(b.Slots[1].Item) > 0 {
				b.Name, b.Slots[1].Item[0] = "later", 'L'
			}
		}
		must.Get(img.WriteTo(&again))
		require.Equal(t, file.Bytes(), again.Bytes())

		other, otherBadges := badgeWorld(t)
		for range 300 { // its own texts will be replaced
			otherBadges.Set(spawn(t, other, 0, world.Vec3{}), badgeOf("old", "old", "old"))
		}
		require.NoError(t, other.Restore(read(t, other, file.Bytes())))
		require.NoError(t, w.Restore(&img))
		runtime.GC()
		for _, e := range all {
			require.Equal(t, want[e], c.Get(e).texts())
			require.Equal(t, want[e], otherBadges.Get(e).texts())
		}
		require.Equal(t, []uint64{hash, hash}, []uint64{w.StateHash(), other.StateHash()})
		require.Equal(t, file.Bytes(), written(t, other), "the same state gives the same bytes")

		renewed, renewedBadges := badgeWorld(t)
		require.NoError(t, renewed.RestoreRun(read(t, renewed, file.Bytes())))
		for _, e := range all {
			require.Equal(t, want[e], renewedBadges.Get(renewed.Slots().Handle(e.Index())).texts())
		}
		c.Mut(all[1]).Slots[0].Item = append(c.Mut(all[1]).Slots[0].Item[:0], "!"...)
		require.NoError(t, w.Restore(&img))
		require.Equal(t, want[all[1]], c.Get(all[1]).texts(), "a restored world does not write into the image")
		require.NoError(t, w.CheckInvariants())
		require.NoError(t, other.CheckInvariants())
	}
}

func TestImageOfTooLongText(t *testing.T) {
	w, c := badgeWorld(t)
	e := spawn(t, w, 0, world.Vec3{})
	c.Set(e, badgeOf(strings.Repeat("n", world.MaxTextBytes), "", ""))
	require.NoError(t, w.Restore(read(t, w, written(t, w))))
	c.Mut(e).Name += "n"
	var img world.Image
	w.TakeImage(&img)
	_, err := img.WriteTo(&bytes.Buffer{})
	require.ErrorIs(t, err, world.ErrValue)
	require.ErrorContains(t, err, `component "badge" has 1048577 bytes`)
}

func TestRecordingsKeepTexts(t *testing.T) {
	w, c := badgeWorld(t)
	e := spawn(t, w, 0, world.Vec3{})
	c.Set(e, badgeOf("before", "1", ""))
	w.Step()
	var img world.Image
	w.TakeImage(&img)
	var file bytes.Buffer
	r := must.Get(w.Record(&file, &img, 1))
	c.Mut(e).Name = "renamed"
	w.Step()
	f := spawn(t, w, 0, world.Vec3{})
	c.DeferSet(f, badgeOf("new", "", "sword"))
	w.Step()
	c.Remove(e)
	w.Step()
	c.Set(e, badgeOf("back", "", ""))
	w.Step()
	require.NoError(t, r.Close())

	other, otherBadges := badgeWorld(t)
	replay := must.Get(other.Replay(&file))
	for range 4 {
		require.NoError(t, replay.Next())
	}
	require.EqualValues(t, 4, replay.Checked())
	require.Equal(t, []string{"back", "", ""}, otherBadges.Get(e).texts())
	require.Equal(t, []string{"new", "", "sword"}, otherBadges.Get(f).texts())
	require.Equal(t, w.StateHash(), other.StateHash())
}

func TestRecordingOfTooLongTextEnds(t *testing.T) {
	w, c := badgeWorld(t)
	e := spawn(t, w, 0, world.Vec3{})
	var img world.Image
	w.TakeImage(&img)
	r := must.Get(w.Record(&bytes.Buffer{}, &img, 1))
	c.Set(e, badgeOf(strings.Repeat("n", world.MaxTextBytes+1), "", ""))
	w.Step()
	require.ErrorIs(t, r.Close(), world.ErrValue)
	require.Equal(t, world.MaxTextBytes+1, len(c.Get(e).Name), "the world continues")
}

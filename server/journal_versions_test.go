package server

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/stage"
	"github.com/worldd/worldd/server/imagefile"
	"github.com/worldd/worldd/world"
)

// withGold is the first version of a game.
func withGold(c *Config, _ *Restoring) { must.Get(world.Register[int16](c.World, "gold")) }

// withMana makes the next version of the game: it has a component more, which Join sets. The journal has this call.
func withMana[T any](value T) func(*Config, *Restoring) {
	return func(c *Config, how *Restoring) {
		withGold(c, how)
		mana, join := must.Get(world.Register[T](c.World, "mana")), c.Hooks.Join
		c.Hooks.Join = func(s *Session) (world.Entity, error) {
			e, err := join(s)
			mana.Set(e, value)
			return e, err
		}
	}
}

// continueKept returns the ticks that the images of other versions reach with their journals, ascending, if an operator puts
// them back.
func continueKept(t *testing.T, dir string, build func(*Config, *Restoring)) (ticks []uint64) {
	for _, kept := range must.Get(filepath.Glob(filepath.Join(dir, "world.image.kept-*"))) {
		back := copyOf(t, dir)
		require.NoError(t, os.Rename(filepath.Join(back, filepath.Base(kept)), filepath.Join(back, "world.image")))
		r := openJournaled(t, back, imagefile.JournalAlways, build)
		require.EqualValues(t, 40, r.found.Frames)
		ticks = append(ticks, r.core.World().Tick())
	}
	slices.Sort(ticks)
	return ticks
}

// A journal crosses an upgrade, a rollback and another upgrade, each after a crash without a newer image: no tick and no entity is
// lost, a new run begins, and what a version drops is named. A version that cannot map the journal changes no file.
func TestJournalCrossesVersions(t *testing.T) {
	upgraded := withMana[int32](7)
	r := openJournaled(t, t.TempDir(), imagefile.JournalAlways, withGold)
	for i, step := range []struct {
		build func(*Config, *Restoring)
		names string // in the log
	}{
		{upgraded, `not as in the image: component "mana": new: no entity has it`},
		{withGold, `not as in the image: component "mana": dropped: the world lacks it`},
		{upgraded, `not as in the image: component "mana": new: no entity has it`},
	} {
		openClient(t, r.core, &stage.Conn{}, 0)
		r.ticks(40)
		was := r
		r = openJournaled(t, was.crash(), imagefile.JournalAlways, step.build)
		require.EqualValues(t, 40*(i+1), r.core.World().Tick())
		require.EqualValues(t, 40, r.found.Frames)
		require.Equal(t, was.core.World().Stats().Entities, r.core.World().Stats().Entities)
		require.False(t, r.found.SameRun)
		require.NotEqual(t, was.core.Config().Epoch, r.core.Config().Epoch)
		require.NoError(t, errors.Join(r.found.Cut, r.found.Diverged))
		require.Len(t, r.logs.FilterMessage(step.names).All(), 1)
	}
	require.Equal(t, []uint64{80, 120}, continueKept(t, r.dir, upgraded), "mana as it was before the rollback")

	openClient(t, r.core, &stage.Conn{}, 0)
	r.ticks(40)
	again := openJournaled(t, r.crash(), imagefile.JournalAlways, upgraded)
	require.True(t, again.found.SameRun, "the same version continues")
	require.Equal(t, r.core.World().StateHash(), again.core.World().StateHash())

	dir := r.crash()
	before := filesIn(t, dir)
	store := must.Get(imagefile.Open(filepath.Join(dir, "world.image"), 0))
	c := Config{WorldConfig: WorldConfig{World: stage.NewCrates(world.Config{Seed: 1, MaxEntities: 200}).World}, Image: ImageConfig{Store: store, Journal: imagefile.JournalAlways}}
	withMana[float32](7)(&c, nil)
	_, err := c.Restore(Restoring{})
	require.ErrorContains(t, err, `component "mana"`)
	require.ErrorIs(t, err, world.ErrImageWorld)
	require.NoError(t, store.Close())
	require.Equal(t, before, filesIn(t, dir))
}

package evolution

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/simtest"
	"github.com/worldd/worldd/internal/stage"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/session"
	"github.com/worldd/worldd/world"
)

// outcome is the effect of a change on a file or a client of another build.
type outcome struct {
	word   string
	values values   // that differ from what the reading build sets; a nil value: it has none
	says   []string // in the list of changes, or in the error
}

// The words of outcomes, which EVOLVING.md explains.
const (
	wordKept    = "kept"
	wordDrops   = "drops"
	wordRefused = "refused"
	wordEqual   = "equal"
	wordDiffers = "differs"
	wordJoins   = "joins"
)

func kept(says ...string) outcome            { return outcome{wordKept, nil, says} }
func drops(v values, says ...string) outcome { return outcome{wordDrops, v, says} }
func refused(says ...string) outcome         { return outcome{wordRefused, nil, says} }
func equal() outcome                         { return outcome{wordEqual, nil, nil} }
func differs(says ...string) outcome         { return outcome{wordDiffers, nil, says} }
func joins(v values) outcome                 { return outcome{wordJoins, v, nil} }
func (o outcome) with(v values) outcome      { return outcome{o.word, v, o.says} }

// requireOutcome fails unless this has happened.
func (o outcome) requireOutcome(t *testing.T, word string, says string) {
	require.Equal(t, o.word, word, says)
	for _, part := range o.says {
		require.Contains(t, says, part)
	}
}

// written returns the game's image.
func (g *game) written() []byte {
	var img world.Image
	g.TakeImage(&img)
	var file bytes.Buffer
	_ = must.Get(img.WriteTo(&file))
	return file.Bytes()
}

// restore restores an image in the world of another build, and returns the word of the outcome.
func (g *game) restore(t *testing.T, file []byte) (word, says string) {
	img, err := g.ReadImage(bytes.NewReader(file))
	if err != nil {
		require.ErrorIs(t, err, world.ErrImageWorld)
		return wordRefused, err.Error()
	}
	require.NoError(t, g.Restore(img))
	require.NoError(t, g.CheckInvariants())
	word = wordKept
	for _, c := range img.Changes() {
		says += c.String() + "\n"
		if c.Losing {
			word = wordDrops
		}
	}
	return word, says
}

// requireLife fails unless all that lived in another build's world lives in this one, with the right values.
func (g *game) requireLife(t *testing.T, lives []life, differ values) {
	want := g.wanted(differ)
	for _, was := range lives {
		require.Equal(t, bulk.Live, g.Status(was.entity))
		id, _ := g.KindOf(was.entity)
		k := g.Kinds()[id]
		require.True(t, k.Name == was.kind || slices.Contains(k.Was, was.kind), "%s became %s", was.kind, k.Name)
		at, _ := g.Position(was.entity)
		require.Equal(t, g.inside(was.at), at, k.Name)
		for name, read := range g.read {
			if was.kind == player.Name {
				require.Equal(t, want[name], read(was.entity), "%s of %s", name, k.Name)
			}
		}
	}
}

// adopt takes over the entities of another build's world, after restore.
func (g *game) adopt(lives []life) {
	for _, l := range lives {
		id, _ := g.KindOf(l.entity)
		g.lives = append(g.lives, life{l.entity, g.Kinds()[id].Name, l.at})
	}
}

// inside moves a place into the world.
func (g *game) inside(at world.Vec3) world.Vec3 {
	at.X = min(at.X, g.Config().HalfExtent.X)
	return at
}

// wanted returns the build's own values, but for these.
func (g *game) wanted(differ values) values {
	want := maps.Clone(g.own)
	maps.Copy(want, differ)
	return want
}

// imageOf restores an image of v1 in v2. Players keep their remaining lifetime.
func (r *row) imageOf(t *testing.T) {
	v1, v2 := r.v1.start("v1"), r.v2.start("v2")
	v1.populate()
	v1.run(2)
	word, says := v2.restore(t, v1.written())
	r.image.requireOutcome(t, word, says)
	if word == wordRefused {
		require.Zero(t, v2.Stats().Entities, "a refused image changes nothing")
		return
	}
	v2.requireLife(t, v1.lives, r.image.values)
	v2.requireSeconds(t, v1.lives, 8)
}

// requireSeconds fails unless the players die after this many seconds from now.
func (g *game) requireSeconds(t *testing.T, lives []life, seconds float64) {
	players := func() (n int) {
		for _, was := range lives {
			if was.kind == player.Name && g.Status(was.entity) == bulk.Live {
				n++
			}
		}
		return n
	}
	began := players()
	g.run(seconds - 0.1)
	require.Equal(t, began, players())
	g.run(0.2)
	require.Zero(t, players())
	require.NoError(t, g.CheckInvariants())
}

// recordingOf repeats a recording of v1 in v2.
func (r *row) recordingOf(t *testing.T) {
	v1, v2 := r.v1.start("v1"), r.v2.start("v2")
	v1.populate()
	v1.run(2)
	var img world.Image
	v1.TakeImage(&img)
	var file bytes.Buffer
	recorder := must.Get(v1.Record(&file, &img, 1))
	v1.populate()
	v1.run(0.5)
	require.NoError(t, recorder.Close())
	replay, err := v2.Replay(&file)
	if err != nil {
		r.record.requireOutcome(t, wordRefused, err.Error())
		return
	}
	for err == nil {
		err = replay.Next()
	}
	var divergence *world.DivergenceError
	if errors.As(err, &divergence) {
		r.record.requireOutcome(t, wordDiffers, err.Error())
		require.ErrorContains(t, err, `it was recorded by "game v1", and this is "game v2"`)
		return
	}
	require.ErrorIs(t, err, io.EOF)
	r.record.requireOutcome(t, wordEqual, "")
	v2.requireLife(t, v1.lives, r.image.values)
}

// rollbackOf restores an image of v2 in v1. v2 first restores an image of v1, unless it refuses that image.
func (r *row) rollbackOf(t *testing.T) {
	first, v2, v1 := r.v1.start("v1"), r.v2.start("v2"), r.v1.start("v1")
	first.populate()
	first.run(2)
	if word, _ := v2.restore(t, first.written()); word != wordRefused {
		v2.adopt(first.lives)
	}
	v2.populate()
	v2.run(1)
	word, says := v1.restore(t, v2.written())
	r.rollback.requireOutcome(t, word, says)
	if word != wordRefused {
		v1.requireLife(t, v2.lives, r.rollback.values)
	}
}

// clientOf connects a client of a build to a server of another one.
func clientOf(t *testing.T, want outcome, ofServer, ofClient build) {
	s, c := ofServer.start(""), ofClient.start("")
	s.populate()
	if err := s.serve(t, c, want.values); err != nil {
		want.requireOutcome(t, wordRefused, err.Error())
		require.Equal(t, wire.SchemaMismatch, wire.CodeOf(err))
		return
	}
	want.requireOutcome(t, wordJoins, "")
	for _, name := range s.hears {
		require.Equal(t, s.wanted(want.values)[name], s.got[name], "the server received %s", name)
	}
	for name := range c.see {
		require.Equal(t, c.wanted(want.values)[name], c.got[name], "the client sees %s", name)
	}
	for _, name := range c.learns {
		require.Equal(t, c.wanted(want.values)[name], c.got[name], "the client learns %s", name)
	}
}

// serve lets a client join and play. A command with the value nil in differ must fail.
func (g *game) serve(t *testing.T, c *game, differ values) error {
	id := slices.IndexFunc(g.Kinds(), func(k world.Kind) bool { return k.Name == player.Name })
	g.hooks.Join = func(*session.Session) (world.Entity, error) { return g.spawn(world.KindID(id)), nil }
	core := must.Get(session.NewCore(session.Config{
		Random: stage.Random(1), WorldConfig: session.WorldConfig{World: g.World, Schema: g.schema, Hooks: g.hooks},
	}))
	x := &stage.Linked{
		Connection: simtest.NewConnection(1, simtest.Conditions{}), Unit: time.Millisecond,
		Client: must.Get(client.NewSession(client.SessionConfig{Schema: c.schema, Events: &c.events})),
	}
	x.Peer = core.Open(context.Background(), "", x)
	sent := false
	for tick := range 40 {
		x.Now += 1000 / int64(g.TickHz())
		require.NoError(t, x.Serve())
		core.Tick()
		if err := x.Play(); err != nil {
			return err
		}
		if !x.Client.Joined() {
			continue
		}
		own := x.Client.Replica().Entity(x.Client.Controlled())
		if own == nil {
			continue
		}
		if c.hold != nil {
			require.NoError(t, c.hold(x.Client, x.Time()))
		}
		for name, send := range c.send {
			if !sent {
				v, differs := differ[name]
				require.Equal(t, differs && v == nil, send(x.Client) != nil, name)
			}
		}
		sent = true
		if c.poll != nil {
			c.poll()
		}
		for name, see := range c.see {
			c.got[name] = see(own)
		}
		if tick == 20 {
			for _, e := range g.tell {
				require.NoError(t, core.Broadcast(e))
			}
		}
	}
	require.True(t, sent, "the client sees its player")
	return nil
}

package host

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/world"
)

// recordTag records 200 ticks of the game tag, in which balls come and go and some ticks are late.
func recordTag(t *testing.T) (file []byte, hashes map[uint64]uint64) {
	d := tag()
	g := must.Get(d.buildInstance(Options{}))
	var out bytes.Buffer
	var img world.Image
	g.takeImage(&img)
	recorder := must.Get(g.World.Record(&out, &img, 1))
	hashes = map[uint64]uint64{0: g.World.StateHash()}
	var balls []world.Entity
	for g.World.Tick() < 200 {
		switch g.World.Tick() % 40 {
		case 10:
			balls = append(balls, must.Get(g.Hooks.Join(nil)))
		case 30:
			g.World.DestroyBecause(balls[len(balls)-1], 3)
		case 35:
			g.World.NoteLate(time.Duration(g.World.Tick()) * time.Millisecond)
		}
		g.World.Step()
		hashes[g.World.Tick()] = g.World.StateHash()
	}
	require.NoError(t, recorder.Close())
	return out.Bytes(), hashes
}

// newTagFilm makes a film of a recording of tag.
func newTagFilm(t *testing.T, file []byte, limits filmLimits) *film {
	d := tag()
	g := must.Get(d.buildInstance(Options{}))
	ball, _ := g.World.KindOf(g.World.Slots().Handle(0))
	g.Avatars = []world.KindID{ball}
	replay := must.Get(g.replay(bytes.NewReader(file)))
	return must.Get(newFilm(t.Context(), g, replay, bytes.NewReader(file), limits, func(uint64) {}))
}

// A film shows the recorded state at each tick, in any order, however few keyframes fit into its memory.
func TestFilmSeeks(t *testing.T) {
	file, hashes := recordTag(t)
	for name, limits := range map[string]filmLimits{
		"all keyframes fit": {5, maxKeyframeBytes, maxMoments},
		"few fit":           {5, 3000, maxMoments},
	} {
		t.Run(name, func(t *testing.T) {
			f := newTagFilm(t, file, limits)
			require.Equal(t, io.EOF, f.end)
			require.LessOrEqual(t, f.bytes, limits.keyframeBytes)
			require.Equal(t, uint64(200), f.last)
			for i := range uint64(60) {
				tick := i * 67 % 201
				require.NoError(t, f.seek(t.Context(), tick))
				require.Equal(t, hashes[tick], f.game.World.StateHash(), "tick %d", tick)
			}
		})
	}
}

// A film finds the moments before and after a tick.
func TestFilmFinds(t *testing.T) {
	file, _ := recordTag(t)
	f := newTagFilm(t, file, filmLimits{50, maxKeyframeBytes, maxMoments})
	death, _ := f.find(jump{what: "deaths"})
	ball := death.entity
	for _, c := range []struct {
		jump jump
		tick uint64 // 0: none
		text string
	}{
		{jump{from: 0, what: "deaths"}, 31, "was destroyed, cause 3"},
		{jump{from: 31, what: "deaths"}, 71, "was destroyed"},
		{jump{from: 31, what: "deaths", back: true}, 0, ""},
		{jump{from: 200, what: "deaths", back: true}, 191, "was destroyed"},
		{jump{from: 31, what: "followed", entity: ball, back: true}, 11, "was spawned"},
		{jump{from: 31, what: "followed", entity: ball}, 0, ""},
		{jump{from: 0, what: "stops"}, 0, ""},
		{jump{from: 0, what: "late"}, 36, "began 35 ms late on the server"},
		{jump{from: 36, what: "late"}, 76, "began 75 ms late on the server"},
		{jump{from: 36, what: "late", back: true}, 0, ""},
		{jump{from: 0, what: "late", entity: ball}, 0, ""},
		{jump{from: 200, what: "followed", back: true}, 0, ""},
	} {
		m, found := f.find(c.jump)
		require.Equal(t, c.tick != 0, found, "%+v", c.jump)
		if found {
			require.Equal(t, c.tick, m.tick, "%+v", c.jump)
			require.Contains(t, f.describeMoment(m), c.text)
		}
	}
	require.Equal(t, "5, worst 195ms at tick 196", f.late.String())
	_, found := f.find(jump{what: "slow"})
	require.True(t, found)
	few := newTagFilm(t, file, filmLimits{50, maxKeyframeBytes, 3})
	require.True(t, few.full)
	require.Len(t, few.events, 3)
}

// The time line marks the whole recording, however many moments it has.
func TestMarks(t *testing.T) {
	f := film{first: 100, last: 3100}
	var marks []uint64
	for tick := f.first; tick <= f.last; tick++ {
		marks = f.addMark(marks, tick)
	}
	require.Len(t, marks, timelineColumns)
	require.Equal(t, []uint64{100, 110, 3090}, []uint64{marks[0], marks[1], marks[timelineColumns-1]})
}

// The queries of a page are bounded, and a refusal says which values are allowed.
func TestQueriesOfAPage(t *testing.T) {
	for _, text := range []string{"", "-1", "1.5", "x", "18446744073709551616"} {
		_, err := parseTick(text)
		require.ErrorContains(t, err, "want a whole number", text)
	}
	require.Len(t, must.Get(parseHandles(strings.Repeat("1v1,", maxAsked-1)+"1v1")), maxAsked)
	for _, text := range []string{",", "1", "1v", "v1", "1v1,,2v1", strings.Repeat("1v1,", maxAsked) + "1v1"} {
		_, err := parseHandles(text)
		require.Error(t, err, text)
	}
	require.Equal(t, arrowGrid{-1.5, 2, 0.5, 64, 64}, must.Get(parseGrid("-1.5,2,0.5,64,64")))
	for _, text := range []string{"1", "1,2,3,4", "1,2,3,4,5,6", "1,2,3,64,65", "1,2,3,-1,-1", "NaN,2,3,4,5", "1,2,3,NaN,1", "1,2,3,Inf,0", "1,2,1e99,1,1"} {
		_, err := parseGrid(text)
		require.ErrorContains(t, err, "want X,Z,STEP,COLUMNS,ROWS", text)
	}
}

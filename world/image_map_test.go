package world_test

import (
	"bytes"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/racetest"
	"github.com/worldd/worldd/world"
)

// The component purse in the first version of a game.
type (
	purse struct {
		Gold  int32
		Owner world.Entity
		Note  string
		Seals [2]seal
	}
	seal struct {
		Color uint8
		Valid bool
	}
)

var rockKind, playerKind, ghostKind = world.Kind{Name: "rock", Body: &world.BodyDef{Mass: 2, Radius: 0.5}}, world.Kind{Name: "player", Body: &world.BodyDef{Radius: 0.5}}, world.Kind{Name: "ghost"}

// build makes the world of a version of the game. T is the type of its purse.
func build[T any](t testing.TB, c world.Config, kinds ...world.Kind) (*world.World, *world.Component[T]) {
	w := must.Get(world.New(c))
	if len(kinds) == 0 {
		kinds = []world.Kind{rockKind, playerKind, ghostKind}
	}
	for _, k := range kinds {
		addKind(t, w, k)
	}
	return w, register[T](t, w, "purse")
}

// populate gives the first version sleeping and flying rocks, players with purses, and a ghostKind.
func populate(t testing.TB, w *world.World, c *world.Component[purse]) {
	for i := range 10 {
		spawn(t, w, 0, world.Vec3{X: float32(i) * 3, Y: 0.5})
	}
	steps(w, 60)
	require.False(t, w.Awake(w.Slots().Handle(3)))
	for i := range int32(4) {
		e := must.Get(w.SpawnFor(1, world.Vec3{X: float32(i), Y: 5, Z: 9}, world.Vec3{X: 1}, 600))
		c.Set(e, purseOf(i, e))
	}
	spawn(t, w, 2, world.Vec3{})
	w.Step()
}

func purseOf(i int32, owner world.Entity) purse {
	return purse{Gold: -100 - i, Owner: owner, Note: fmt.Sprint("note ", i), Seals: [2]seal{{Color: uint8(i), Valid: true}, {Color: 200}}}
}

// savedGame returns an image of the first version.
func savedGame(t testing.TB) []byte {
	w, c := build[purse](t, world.Config{})
	populate(t, w, c)
	return written(t, w)
}

// evolve restores the first version's image in a world of another version, and returns the changes. The
// world then runs.
func evolve(t testing.TB, w *world.World, file []byte) (changes []string) {
	img := read(t, w, file)
	for _, c := range img.Changes() {
		changes = append(changes, c.String())
	}
	require.NoError(t, w.Restore(img))
	require.NoError(t, w.CheckInvariants())
	require.NoError(t, w.RestoreRun(img))
	require.NoError(t, w.CheckInvariants())
	var saved bytes.Buffer
	must.Get(img.WriteTo(&saved))
	require.Empty(t, read(t, w, saved.Bytes()).Changes(), "written again, it is an image of this version")
	return changes
}

// players yields the players' purses.
func players[T any](w *world.World, c *world.Component[T]) (all []T) {
	for _, v := range c.All() {
		all = append(all, *v)
	}
	return all
}

func TestImageOfAddedAndReorderedFields(t *testing.T) {
	type coins struct {
		Seals  [2]seal
		Silver float64
		Note   string
		Title  string
		Gold   int32
		Owner  world.Entity
	}
	w, c := build[coins](t, world.Config{})
	require.NoError(t, world.SetDefault(w, 1, c, coins{Silver: 2.5, Title: "Sir", Gold: 7}))
	changes := evolve(t, w, savedGame(t))
	require.Equal(t, []string{
		`component "purse": field added Silver (4 entities)`, `component "purse": field added Title (4 entities)`,
	}, changes)
	for i, v := range players(w, c) {
		was := purseOf(int32(i), v.Owner)
		require.Equal(t, coins{was.Seals, 2.5, was.Note, "Sir", was.Gold, was.Owner}, v)
		require.Equal(t, bulk.Live, w.Status(v.Owner), "RestoreRun renews references")
	}
}

func TestImageOfRemovedFields(t *testing.T) {
	type flag struct{ Valid bool }
	type coins struct {
		Owner world.Entity
		Seals [2]flag
	}
	w, c := build[coins](t, world.Config{})
	img := read(t, w, savedGame(t))
	require.Equal(t, world.ImageChange{Part: `component "purse"`, What: "field dropped Seals[].Color", Count: 4, Losing: true}, img.Changes()[0])
	changes := evolve(t, w, savedGame(t))
	require.Equal(t, []string{
		`component "purse": field dropped Seals[].Color (4 entities)`,
		`component "purse": field dropped Gold (4 entities)`, `component "purse": field dropped Note (4 entities)`,
	}, changes)
	for _, v := range players(w, c) {
		require.Equal(t, [2]flag{{true}, {false}}, v.Seals)
	}
}

func TestImageOfWidenedFields(t *testing.T) {
	type seal struct {
		Color int16
		Valid bool
	}
	type coins struct {
		Gold  int64
		Owner world.Entity
		Note  []byte
		Seals [3]seal
	}
	w, c := build[coins](t, world.Config{})
	require.NoError(t, world.SetDefault(w, 1, c, coins{Seals: [3]seal{{1, true}, {2, true}, {3, true}}}))
	changes := evolve(t, w, savedGame(t))
	require.Equal(t, []string{
		`component "purse": field widened Gold from int32 to int64 (4 entities)`,
		`component "purse": field widened Seals[].Color from uint8 to int16 (4 entities)`,
		`component "purse": field widened Seals from [2]{Color uint8; Valid bool} to [3]{Color int16; Valid bool} (4 entities)`,
	}, changes)
	for i, v := range players(w, c) {
		require.Equal(t, coins{-100 - int64(i), v.Owner, []byte(fmt.Sprint("note ", i)), [3]seal{{int16(i), true}, {200, false}, {3, true}}}, v)
	}
}

func TestImageOfRenames(t *testing.T) {
	type coins struct {
		Coins int32 `was:"Silver,Gold"`
		Owner world.Entity
		Note  string
		Seals [2]seal
	}
	w := must.Get(world.New(world.Config{}))
	for _, k := range []world.Kind{ghostKind, {Name: "hero", Was: []string{"player"}, Body: playerKind.Body}, rockKind} {
		addKind(t, w, k)
	}
	c := register[coins](t, w, "wallet")
	require.NoError(t, c.Was("bag", "purse"))
	require.Equal(t, []string{
		`kind "player": is now kind "hero"`, `kinds: have other numbers`,
		`component "purse": is now component "wallet"`, `component "purse": field renamed Coins from Gold (4 entities)`,
	}, evolve(t, w, savedGame(t)))
	for i, v := range players(w, c) {
		require.Equal(t, -100-int32(i), v.Coins)
		kind, _ := w.KindOf(v.Owner)
		require.Equal(t, "hero", w.Kinds()[kind].Name)
	}
	require.ErrorIs(t, must.Fail(world.Register[int8](w, "bag")), world.ErrName, "the name is that of the wallet")
	require.ErrorIs(t, register[int8](t, w, "other").Was("wallet"), world.ErrName)
}

// If a file has one component under the present name and another under a former name, the
// one under the present name is kept.
func TestImageWithBothNames(t *testing.T) {
	w, _ := build[purse](t, world.Config{})
	old := register[int32](t, w, "coins")
	old.Set(spawn(t, w, 2, world.Vec3{}), 5)
	other, c := build[purse](t, world.Config{})
	require.NoError(t, c.Was("coins"))
	require.Equal(t, []string{`component "coins": dropped: the world lacks it (1 entity)`}, evolve(t, other, written(t, w)))
}

func TestImageMigrates(t *testing.T) {
	type purse2 struct{ Copper, Scale int64 }
	type purse3 struct {
		Label string
		Value float32
	}
	w, c := build[purse3](t, world.Config{})
	to3 := func(old purse2) purse3 { return purse3{fmt.Sprint(old.Copper), float32(old.Scale)} }
	to2 := func(old purse) purse2 { return purse2{int64(old.Gold) * 100, int64(len(old.Note))} }
	require.ErrorIs(t, world.Migrate(w, c, to2), world.ErrValue, "it leads nowhere yet")
	_, err := w.ReadImage(bytes.NewReader(savedGame(t)))
	require.NoError(t, err, "other fields: all are dropped")
	require.NoError(t, world.Migrate(w, c, to3))
	require.NoError(t, world.Migrate(w, c, to2))
	require.ErrorIs(t, world.Migrate(w, c, to2), world.ErrValue, "twice")
	require.Equal(t, []string{
		`component "purse": migrated from world_test.purse to world_test.purse2 (4 entities)`,
		`component "purse": migrated from world_test.purse2 to world_test.purse3 (4 entities)`,
	}, evolve(t, w, savedGame(t)))
	for i, v := range players(w, c) {
		require.Equal(t, purse3{fmt.Sprint(-10000 - 100*i), 6}, v)
	}

	other, d := build[int8](t, world.Config{})
	require.NoError(t, world.Migrate(other, d, func(purse) int8 { panic("no such purse") }))
	_, err = other.ReadImage(bytes.NewReader(savedGame(t)))
	require.ErrorIs(t, err, world.ErrImageWorld)
	require.ErrorContains(t, err, "no such purse")
	require.ErrorIs(t, world.Migrate(w, d, func(int16) int8 { return 0 }), world.ErrUnknown)
	require.ErrorIs(t, world.Migrate(other, d, func(*int) int8 { return 0 }), world.ErrType)
}

// An image that cannot be mapped is refused with all reasons in one error.
func TestImageThatCannotBeMapped(t *testing.T) {
	type seal struct {
		Color uint8
		Valid uint8
	}
	type coins struct {
		Gold  uint64
		Owner uint64
		Note  float32
		Seals [1]seal
	}
	w, _ := build[coins](t, world.Config{}, rockKind)
	_, err := w.ReadImage(bytes.NewReader(savedGame(t)))
	require.ErrorIs(t, err, world.ErrImageWorld)
	for _, part := range []string{
		`4 entities are of kind "player", which the world lacks`, `1 entities are of kind "ghost", which the world lacks`,
		"field Gold is int32 in the image and uint64 in the world", "field Owner is handle in the image and uint64 in the world",
		"field Note is string in the image and float32 in the world",
		"field Seals is [2]{Color uint8; Valid bool} in the image and [1]{Color uint8; Valid uint8} in the world",
		"world.Migrate",
	} {
		require.ErrorContains(t, err, part)
	}
}

// The settings of the world and its kinds apply. Durations stay equal in seconds, and
// bodies stay inside and move by the new settings.
func TestImageOfOtherSettings(t *testing.T) {
	heavy := rockKind
	heavy.Body = &world.BodyDef{Mass: 9, Radius: 0.5, Layers: 2}
	for name, c := range map[string]struct {
		config world.Config
		rock   world.Kind
		change string // begins the first change
		wakes  bool
	}{
		"slower":  {world.Config{TickHz: 30}, rockKind, "settings: TickHz was 60 and is now 30", true},
		"faster":  {world.Config{TickHz: 240}, rockKind, "settings: TickHz", true},
		"smaller": {world.Config{HalfExtent: world.Vec3{X: 10, Y: 3, Z: 10}}, rockKind, "settings: HalfExtent", true},
		"motion":  {world.Config{Gravity: 2, RestSpeed: 1, RestSeconds: 3, Bounds: world.BoundsDestroy}, rockKind, "settings: Gravity", true},
		"bodies":  {world.Config{}, heavy, `kind "rock": Mass was 2 and is now 9, Layers was 1 and is now 2 (10 entities)`, true},
		"grid":    {world.Config{Seed: 9, CellMetres: 2}, rockKind, "settings: Seed", false},
		"rows":    {world.Config{Compaction: world.InPlace}, rockKind, "settings: Compaction", false},
		"stable":  {world.Config{Compaction: world.Stable}, rockKind, "settings: Compaction", false},
	} {
		t.Run(name, func(t *testing.T) {
			w, purses := build[purse](t, c.config, c.rock, playerKind, ghostKind)
			changes := evolve(t, w, savedGame(t))
			require.Contains(t, changes[0], c.change)
			w.Step()
			require.Equal(t, c.wakes, w.Awake(w.Slots().Handle(3)))
			require.Len(t, players(w, purses), 4)
			ticks := 600 * w.TickHz() / 60
			steps(w, ticks-20)
			require.Len(t, players(w, purses), 4, "they live for ten seconds")
			steps(w, 40)
			require.Empty(t, players(w, purses))
			require.NoError(t, w.CheckInvariants())
		})
	}
}

// Effects keep their place, and their age and rest in seconds. Timers keep their durations.
func TestImageOfAnotherTickRate(t *testing.T) {
	moving := compile(t, blast)
	set := func(hz int) (*world.World, *world.Timer[int32], *[]uint64) {
		w, _ := build[purse](t, world.Config{TickHz: hz})
		var calls []uint64
		timer := must.Get(world.NewTimer(w, "bell", func(world.Entity, int32) { calls = append(calls, w.Tick()) }))
		return w, timer, &calls
	}
	w, timer, _ := set(60)
	orbit := world.EffectOrbit{AxisU: world.Vec3{X: 10}, AxisV: world.Vec3{Z: 10}, Rate: 1 << 24}
	steps(w, 100)
	linear := must.Get(w.AddEffect(world.EffectDef{Program: moving, Velocity: world.Vec3{X: 3}, LifeTicks: 120}))
	circle := must.Get(w.AddEffect(world.EffectDef{Program: moving, Orbit: orbit}))
	require.True(t, timer.After(spawn(t, w, 2, world.Vec3{}), 90, 1))
	steps(w, 60)
	place := func(w *world.World, id world.EffectID) world.Vec3 {
		e := must.Have(w.Effect(id))
		return e.Center
	}
	other, _, calls := set(20)
	require.NoError(t, other.Restore(read(t, other, written(t, w))))
	steps(w, 30)
	steps(other, 10)
	require.InDelta(t, 0, place(w, linear).Sub(place(other, linear)).Len(), 0.1)
	require.InDelta(t, 0, place(w, circle).Sub(place(other, circle)).Len(), 0.1)
	require.Equal(t, []uint64{170}, *calls, "half a second is ten ticks")
	steps(other, 20)
	_, live := other.Effect(linear)
	require.False(t, live, "it lived for two seconds")
}

// A recording is replayed in a world of another version: its calls are mapped like its image.
func TestReplayInAnotherVersion(t *testing.T) {
	w, c := build[purse](t, world.Config{})
	populate(t, w, c)
	old := register[int64](t, w, "old")
	var img world.Image
	w.TakeImage(&img)
	var file bytes.Buffer
	r := must.Get(w.Record(&file, &img, 1))
	for i := range int32(30) {
		e := spawn(t, w, world.KindID(i%2), world.Vec3{X: float32(i), Y: 2})
		c.Set(e, purseOf(i, e))
		old.Set(e, 3)
		w.Step()
		old.Remove(e)
	}
	require.NoError(t, r.Close())

	type coins struct {
		Note string
		Gold int64
		Rank uint8
	}
	again, d := build[coins](t, world.Config{}, ghostKind, playerKind, rockKind)
	require.NoError(t, world.SetDefault(again, 1, d, coins{Rank: 3}))
	replay := must.Get(again.Replay(bytes.NewReader(file.Bytes())))
	require.ErrorIs(t, replayToEnd(replay), io.EOF, "its bodies and entities are the same")
	require.EqualValues(t, 30, replay.Checked())
	all := players(again, d)
	require.Len(t, all, 34)
	require.Equal(t, coins{"note 2", -102, 0}, all[6], "a rockKind's")
	require.Equal(t, coins{"note 3", -103, 3}, all[7], "a playerKind's")

	light := rockKind
	light.Body = &world.BodyDef{Mass: 2, Radius: 0.5, Drag: 3}
	again, _ = build[coins](t, world.Config{}, light, playerKind, ghostKind)
	err := replayToEnd(must.Get(again.Replay(bytes.NewReader(file.Bytes()))))
	var differ *world.DivergenceError
	require.ErrorAs(t, err, &differ)
	require.True(t, differ.RulesDiffer)
	require.ErrorContains(t, err, "differs from the recording since the rules differ, first after tick 62: in bodies")
}

// An image is described without its program.
func TestReadImageInfo(t *testing.T) {
	racetest.SkipSequential(t)
	w, c := build[purse](t, world.Config{TickHz: 20, Gravity: 3})
	populate(t, w, c)
	w.SetProgram(world.Program{Name: "shop", Version: "v1.2"})
	file := written(t, w)
	info := must.Get(world.ReadImageInfo(bytes.NewReader(file)))
	require.Equal(t, world.Program{Name: "shop", Version: "v1.2"}, info.Program)
	require.Equal(t, []any{uint32(5), uint64(61), 20, float32(3), 15, 15, 0}, []any{info.Format, info.Tick, info.Config.TickHz, info.Config.Gravity, info.Entities, info.Slots, info.Effects})
	require.Equal(t, []int{10, 4, 1}, []int{info.Kinds[0].Entities, info.Kinds[1].Entities, info.Kinds[2].Entities})
	require.Equal(t, "rock", info.Kinds[0].Name)
	require.EqualValues(t, 2, info.Kinds[0].Body.Mass)
	require.Len(t, info.Components, 1)
	require.Equal(t, "{Gold int32; Owner handle; Note string; Seals [2]{Color uint8; Valid bool}}", info.Components[0].Type)
	require.Equal(t, 4, info.Components[0].Entities)
	var names []string
	for _, part := range info.Parts {
		names = append(names, part.Name)
		require.Positive(t, part.Bytes)
	}
	require.Equal(t, []string{"setup", "entities", "bodies", "components", "effects", "volumes", "events and extra"}, names)

	_, err := world.ReadImageInfo(bytes.NewReader(append(file, 0)))
	require.ErrorIs(t, err, world.ErrImage)
	for at := range file {
		wrong := bytes.Clone(file)
		wrong[at] ^= 4
		_, err = world.ReadImageInfo(bytes.NewReader(wrong))
		require.True(t, isImageError(err), "byte %d: %v", at, err)
	}
}

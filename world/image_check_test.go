package world

import (
	"bytes"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
)

// Contents with correct checksums may still be inconsistent. Each case would violate an
// invariant, and is rejected.
func TestInconsistentImage(t *testing.T) {
	nan := float32(math.NaN())
	for name, spoil := range map[string]func(*Image){
		"slot of two rows":              func(img *Image) { img.rows.slot[1] = img.rows.slot[0] },
		"row of a free slot":            func(img *Image) { img.entities.Generations[img.rows.slot[0]]++ },
		"row beyond the slots":          func(img *Image) { img.rows.slot[0] = 1 << 30 },
		"live slot without entry":       func(img *Image) { img.bodiless = kindList{img.bodiless.slots[1:], img.bodiless.kinds[1:]} },
		"row of no kind":                func(img *Image) { img.rows.kind[0] = 99 },
		"row of a kind without body":    func(img *Image) { img.rows.kind[0] = 2 },
		"bodiless of a kind with body":  func(img *Image) { img.bodiless.kinds[0] = 0 },
		"position NaN":                  func(img *Image) { img.rows.posX[0] = nan },
		"position outside":              func(img *Image) { img.rows.posY[0] = -1 },
		"infinite velocity":             func(img *Image) { img.rows.velZ[0] = float32(math.Inf(1)) },
		"speed above MaxSpeed":          func(img *Image) { img.rows.velZ[0] = MaxSpeed + 1 },
		"rest beyond sleep":             func(img *Image) { img.rows.rest[0] = 99 },
		"more rows awake than exist":    func(img *Image) { img.rows.awake = 99 },
		"fewer velocities than awake":   func(img *Image) { img.rows.velX = img.rows.velX[1:] },
		"moving row put to sleep":       func(img *Image) { img.rows.flips = []uint32{0} },
		"row woken without velocity":    func(img *Image) { img.rows.flips = append(img.rows.flips, 17) },
		"row flipped twice":             func(img *Image) { img.rows.flips = append(img.rows.flips, img.rows.flips...) },
		"flip beyond the rows":          func(img *Image) { img.rows.flips = append(img.rows.flips, 150) },
		"awake in place under Exchange": func(img *Image) { img.rows.inPlace.Set(0) },
		"free slot doomed":              func(img *Image) { img.doomed.Set(150) },
		"component of a free slot":      func(img *Image) { img.components[0].has.Set(150) },
		"values missing":                func(img *Image) { img.components[0].values = nil },
		"bool neither 0 nor 1":          func(img *Image) { img.components[0].values[0] = 2 },
		"lifetime of a free slot":       func(img *Image) { img.lifetimes.slots[len(img.lifetimes.slots)-1] = 150 },
		"lifetimes in disorder":         func(img *Image) { slices.Reverse(img.lifetimes.slots) },
		"lifetime over":                 func(img *Image) { img.lifetimes.expires[0] = img.tick },
		"effect from the future":        func(img *Image) { img.effects.records[0].born = img.tick + 1 },
		"effect over":                   func(img *Image) { img.effects.records[0].expires = img.tick },
		"effect centre NaN":             func(img *Image) { img.effects.records[0].Center.X = nan },
		"effect parameter NaN":          func(img *Image) { img.effects.params[0][1] = nan },
		"effect offset NaN":             func(img *Image) { img.effects.records[1].path.Center.Y = nan },
		"effect without its leader":     func(img *Image) { img.effects.records[1].follows = 0 },
		"effect on an unknown path":     func(img *Image) { img.effects.records[0].path.Form = 9 },
		"effect too fast":               func(img *Image) { img.effects.records[0].path.Velocity.X = 2e6 },
		"effect that began early":       func(img *Image) { img.effects.records[0].first = img.effects.records[0].born - 1 },
		"effect that begins late":       func(img *Image) { img.effects.records[0].first = img.effects.records[0].born + 2 },
		"volume of a free slot":         func(img *Image) { img.volumes.slots[0] = 150 },
		"volume twice":                  func(img *Image) { img.volumes.slots[1] = img.volumes.slots[0] },
		"volume inside itself":          func(img *Image) { img.volumes.triggers[1].members.Set(img.volumes.slots[1]) },
		"free slot inside a volume":     func(img *Image) { img.volumes.triggers[0].members.Set(150) },
		"bodiless inside a volume":      func(img *Image) { img.volumes.triggers[0].members.Set(img.bodiless.slots[1]) },
		"free slot displaced":           func(img *Image) { img.volumes.displaced.Set(150) },
		"random state truncated":        func(img *Image) { img.random = img.random[1:] },
		"even first generation":         func(img *Image) { img.entities.FirstGeneration = 2 },
		"effects with a hole listed":    func(img *Image) { img.effects.pool.Holes = []uint32{0} },
	} {
		t.Run(name, func(t *testing.T) {
			var img Image
			fuzzWorld(t, true).TakeImage(&img)
			w := fuzzWorld(t, true)
			w.Step()
			before := w.StateHash()
			spoil(&img)
			require.ErrorIs(t, w.Restore(&img), ErrImageWorld)
			require.Equal(t, before, w.StateHash())
			require.NoError(t, w.CheckInvariants())
		})
	}
}

// A file may hold any value for slots without the component.
func TestImageValuesWithoutComponent(t *testing.T) {
	w := fuzzWorld(t, true)
	var img Image
	w.TakeImage(&img)
	own := &img.components[0]
	for i := range 64 {
		if !own.has.Has(uint32(i)) {
			own.values[i*int(own.size)+4] = 77
		}
	}
	require.NoError(t, w.Restore(&img))
	for slot := range uint32(64) {
		if !own.has.Has(slot) {
			require.Zero(t, *(*fuzzed)(w.components[0].at(slot)))
		}
	}
}

// A free slot that claims a component with a new field is refused, also by a world without kinds.
func TestMappedValueOfAFreeSlot(t *testing.T) {
	type oldPoints struct{ Have int16 }
	type points struct{ Have, Most int16 }
	old := must.Get(New(Config{}))
	must.Get(Register[oldPoints](old, "points"))
	ghost := must.Get(old.AddKind(Kind{Name: "ghost"}))
	old.Destroy(must.Get(old.Spawn(ghost, Vec3{}, Vec3{})))
	old.Step()
	var img Image
	old.TakeImage(&img)
	img.components[0].has.Set(0)
	img.components[0].makeRoom(1, math.MaxInt)
	var file bytes.Buffer
	must.Get(img.WriteTo(&file))

	w := must.Get(New(Config{}))
	must.Get(Register[points](w, "points"))
	_, err := w.ReadImage(&file)
	require.ErrorIs(t, err, ErrImageWorld)
	require.ErrorContains(t, err, "free slot 0")
}

// A function of the game never sees a bool that is neither 0 nor 1.
func TestMigratedBoolIsChecked(t *testing.T) {
	type oldFlag struct{ Up bool }
	type flag struct{ Height int8 }
	old := must.Get(New(Config{}))
	ghost := must.Get(old.AddKind(Kind{Name: "ghost"}))
	c := must.Get(Register[oldFlag](old, "flag"))
	c.Set(must.Get(old.Spawn(ghost, Vec3{}, Vec3{})), oldFlag{true})
	var img Image
	old.TakeImage(&img)
	img.components[0].values[0] = 2
	var file bytes.Buffer
	must.Get(img.WriteTo(&file))

	w := must.Get(New(Config{}))
	must.Get(w.AddKind(Kind{Name: "ghost"}))
	called := false
	require.NoError(t, Migrate(w, must.Get(Register[flag](w, "flag")), func(oldFlag) flag {
		called = true
		return flag{}
	}))
	_, err := w.ReadImage(&file)
	require.ErrorIs(t, err, ErrImageWorld)
	require.ErrorContains(t, err, "a bool that is neither 0 nor 1")
	require.False(t, called)
}

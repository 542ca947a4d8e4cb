package world_test

import (
	"bytes"
	"cmp"
	"io"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/worldd/worldd/field"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/racetest"
	"github.com/worldd/worldd/world"
)

// pair is a world and its model, which receive the same commands.
type pair struct {
	w        *world.World
	m        *model
	zones    *world.Component[world.Volume]
	programs []*field.Program
	ever     []world.Entity
	effects  []world.EffectID
	renew    func() *pair   // returns a pair of the same setup
	journal  *world.Journal // nil: none
	image    []byte
	segment  []byte                      // behind image
	began    uint64                      // tick of image
	places   map[world.Entity]world.Vec3 // positions in image
}

// The kinds of a pair, beginning with those that newWorld adds.
const (
	kindCrate world.KindID = iota
	kindGhost
	kindLift
	kindIce
	kindBall
	kindRock
	kindRam
)

// restTicks is the number of ticks that bodies of a pair rest before they fall asleep.
const restTicks = 4

// newPair creates a world with one kind of each sort.
func newPair(t testing.TB, cfg world.Config) *pair {
	cfg.RestSeconds, cfg.MaxEntities = restTicks/float32(cmp.Or(cfg.TickHz, 60)), 200
	w, _, _, _ := newWorld(t, cfg)
	for i, k := range []world.Kind{
		{Name: "ice", Body: &world.BodyDef{Radius: 0.25, Drag: 1, Restitution: 0.9, Layers: 2}},
		{Name: "ball", Body: &world.BodyDef{Radius: 0.6, Restitution: 0.7, Friction: 0.2, Drag: 0.1, Solid: true}},
		{Name: "rock", Body: &world.BodyDef{Mass: 7, Radius: 1.1, Friction: 0.9, Drag: 0.05, Solid: true, Layers: 6}},
		{Name: "ram", Body: &world.BodyDef{Radius: 0.9, Friction: 0.5, Solid: true, Kinematic: true, Layers: 4}},
	} {
		require.Equal(t, kindIce+world.KindID(i), addKind(t, w, k))
	}
	return &pair{
		renew: func() *pair { return newPair(t, cfg) },
		w:     w, zones: register[world.Volume](t, w, "zone"),
		m: &model{
			cfg: w.Config(), kinds: w.Kinds(),
			entities: map[world.Entity]*modelEntity{}, effects: map[world.EffectID]*modelEffect{},
			volumes: map[world.Entity]world.Volume{}, inside: map[world.Crossing]bool{},
			past: map[uint64]map[world.Entity]world.Vec3{0: {}},
		},
		programs: []*field.Program{compile(t, gust), compile(t, blast), compile(t, updraft)},
	}
}

func (p *pair) step() {
	p.w.Step()
	if p.journal != nil {
		p.segment = append(p.segment, must.Get(p.journal.Commit(nil))...)
	}
	p.m.step()
}

// addEntity adds an entity that was just spawned to the model.
func (p *pair) addEntity(e world.Entity, k world.KindID, at, v world.Vec3) *modelEntity {
	b := &modelEntity{kind: k, def: p.m.kinds[k].Body}
	p.m.entities[e] = b
	p.ever = append(p.ever, e)
	if b.def != nil {
		b.at, b.v, b.newborn = p.m.clamped(at), capped(v), true
		p.m.wakeGroup(b)
	}
	return b
}

// compare runs after every command.
func (p *pair) compare(t require.TestingT) {
	require.NoError(t, p.w.CheckInvariants())
	require.Equal(t, len(p.m.entities), p.w.Stats().Entities)
	require.Equal(t, len(p.m.effects), p.w.Stats().Effects)
	awake := 0
	for e, b := range p.m.entities {
		at, ok := p.w.Position(e)
		v, _ := p.w.Velocity(e)
		require.Equal(t, b.def != nil, ok, "%v has a body", e)
		require.Equal(t, b.at, at, "position of %v at tick %d", e, p.m.tick)
		require.Equal(t, b.v, v, "velocity of %v at tick %d", e, p.m.tick)
		require.Equal(t, b.awake, p.w.Awake(e), "%v at tick %d", e, p.m.tick)
		if b.awake {
			awake++
		}
		p.compareHistory(t, e)
		for volume := range p.m.volumes {
			inside := p.m.inside[world.Crossing{Volume: volume, Entity: e}]
			require.Equal(t, inside, p.w.Inside(volume, e), "%v in %v at tick %d", e, volume, p.m.tick)
		}
	}
	require.Equal(t, awake, p.w.Stats().Awake)
	p.compareEvents(t)
}

// compareHistory compares positions in the past, including ticks beyond the history.
func (p *pair) compareHistory(t require.TestingT, e world.Entity) {
	back := uint64(p.m.cfg.HistoryTicks)
	if back == 0 {
		return
	}
	for tick := max(p.m.tick, back+1) - back - 1; tick <= p.m.tick+1; tick++ {
		want, known := p.m.past[tick][e]
		if p.m.tick-tick > back && tick <= p.m.tick {
			want, known = world.Vec3{}, false
		}
		got, ok := p.w.PositionAt(e, world.Moment{Tick: tick})
		require.Equal(t, known, ok, "%v was there at tick %d, seen from %d", e, tick, p.m.tick)
		require.Equal(t, want, got)
	}
}

func (p *pair) compareEvents(t require.TestingT) {
	same(t, p.m.slept, slices.Collect(p.w.Slept()), "fell asleep", p.m.tick)
	same(t, p.m.woke, slices.Collect(p.w.Woke()), "woke", p.m.tick)
	same(t, p.m.destroyed, destroyed(p.w), "were destroyed", p.m.tick)
	same(t, p.m.entered, slices.Collect(p.w.Entered()), "entered", p.m.tick)
	same(t, p.m.left, slices.Collect(p.w.Left()), "left", p.m.tick)
}

// same compares lists; nil equals an empty list.
func same[T any](t require.TestingT, want, got []T, what string, tick uint64) {
	if len(want) != 0 || len(got) != 0 {
		require.Equal(t, want, got, "entities that %s at tick %d", what, tick)
	}
}

// restore continues the world from its own image. That drops its history, and all events
// except Spawned and Destroyed.
func (p *pair) restore(t *rapid.T) {
	if p.journal != nil {
		p.journal.Close()
		p.journal = nil
	}
	var img world.Image
	p.w.TakeImage(&img)
	var file bytes.Buffer
	must.Get(img.WriteTo(&file))
	before := p.w.StateHash()
	for range rapid.IntRange(0, 3).Draw(t, "steps that are undone") {
		p.w.Step()
	}
	read := must.Get(p.w.ReadImage(&file))
	require.NoError(t, p.w.Restore(read))
	require.Equal(t, before, p.w.StateHash())
	p.m.slept, p.m.woke, p.m.entered, p.m.left = nil, nil, nil, nil
	clear(p.m.past)
	p.m.remember()
}

// begin takes an image and begins a journal.
func (p *pair) begin(t require.TestingT) {
	var img world.Image
	var file bytes.Buffer
	p.w.TakeImage(&img)
	must.Get(img.WriteTo(&file))
	p.journal = must.Get(p.w.StartJournal(world.JournalConfig{}))
	p.image, p.segment = file.Bytes(), bytes.Clone(must.Get(p.journal.BeginSegment(nil)))
	p.began, p.places = p.m.tick, p.m.places()
}

// crash continues in a world that is recovered from the image and the journal. That drops the history before the image.
// Without a journal it begins one.
func (p *pair) crash(t *rapid.T) {
	if p.journal == nil {
		p.begin(t)
		return
	}
	p.step()
	lost, again := p.w, p.renew()
	p.w, p.zones, p.journal = again.w, again.zones, nil
	img := must.Get(p.w.ReadImage(bytes.NewReader(p.image)))
	require.NoError(t, p.w.Restore(img))
	replay, r := must.Get(p.w.ReplayJournal(img)), must.Get(world.NewJournalReader(bytes.NewReader(p.segment)))
	require.NoError(t, replay.Follow(r))
	frame, err := r.Next()
	for ; err == nil; frame, err = r.Next() {
		require.NoError(t, replay.Apply(frame))
	}
	require.Equal(t, io.EOF, err)
	require.Equal(t, lost.StateHash(), p.w.StateHash())
	maps.DeleteFunc(p.m.past, func(tick uint64, _ map[world.Entity]world.Vec3) bool { return tick < p.began })
	p.m.past[p.began] = p.places
}

// configs draws the settings that the model supports: the bounds and their rule, narrow
// worlds in which bodies touch, and Compaction.
func configs(t *rapid.T) world.Config {
	return world.Config{
		HalfExtent:   rapid.SampledFrom([]world.Vec3{{X: 40, Y: 30, Z: 24}, {X: 4, Y: 7, Z: 3}, {X: 2, Y: 9, Z: 8.5}}).Draw(t, "half extent"),
		CellMetres:   rapid.SampledFrom([]float32{8, 3, 1.3}).Draw(t, "cells"),
		HistoryTicks: rapid.SampledFrom([]int{0, 6}).Draw(t, "history"),
		Gravity:      rapid.SampledFrom([]float32{0, 0, -1, 2, 0.03}).Draw(t, "gravity"),
		TickHz:       rapid.SampledFrom([]int{60, 60, 20, 1, 1000}).Draw(t, "rate"),
		Bounds:       rapid.SampledFrom([]world.Bounds{world.BoundsClamp, world.BoundsBounce, world.BoundsDestroy}).Draw(t, "bounds"),
		Compaction:   rapid.SampledFrom([]world.Compaction{world.Exchange, world.Stable, world.InPlace}).Draw(t, "compaction"),
	}
}

func TestAgainstModel(t *testing.T) {
	racetest.SkipSequential(t)
	rapid.Check(t, func(r *rapid.T) {
		p := newPair(t, configs(r))
		r.Repeat(map[string]func(*rapid.T){
			"spawn": p.spawn, "spawn some": p.spawnSome, "destroy": p.destroy, "set awake": p.setAwake, "put": p.put, "push": p.push,
			"add effect": p.addEffect, "change effect": p.changeEffect, "volume": p.volume, "sleep all": p.sleepAll,
			"step": p.someSteps, "steps": p.someSteps, "query": p.query, "image": p.restore, "crash": p.crash,
			"": func(t *rapid.T) { p.compare(t) },
		})
	})
}

package simulation

import (
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/field"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/world"
)

// In some seeds bodies of exact kinds are moved by effects, contacts and the game, and some
// clients simulate. Only scripts with the operation simulate have exact kinds: all others
// keep the worlds of the conformance vectors.

// cleanOps are the operations that need exact kinds. Those after simulate may be in hooks.
var cleanOps = []string{"simulate", "toss", "hit", "rouse", "lull", "fan", "turn", "tune", "stop"}

// ofClean reports whether an operation needs exact kinds.
func ofClean(o op) bool {
	_, do, found := strings.Cut(o.do, ":")
	if !found {
		do = o.do
	}
	return slices.Contains(cleanOps, do)
}

// clean makes a third of the seeds simulate. It uses a separate source of random numbers,
// so that all other operations stay the same.
func (g *generator) clean() {
	g.rng = rand.New(rand.NewPCG(uint64(g.s.seed), 0x52))
	d := g.rng.IntN
	if d(3) > 0 {
		return
	}
	g.add(0, "simulate", 1+d(255))
	for range d(20) {
		g.add(0, "toss", g.any(), g.place(), g.place(), g.motion(), g.motion())
	}
	if d(4) == 0 { // on every body, so that the order of summation matters
		for _, form := range []int{256, 1024, 1792, 8704} {
			g.add(0, "fan", 0, 0, form)
		}
	}
	rate := []int{5, 25, 70}[d(3)]
	if g.s.budget == 4_000 {
		rate = min(rate, 25) // programs and effects would fill the budget
	}
	inHooks := d(2) == 0
	for tick := 1; tick <= g.s.ticks; tick++ {
		if d(100) >= rate {
			continue
		}
		do := cleanOps[1+d(len(cleanOps)-1)]
		var args []int
		for _, name := range strings.Fields(operations[do]) {
			switch name {
			case "x", "z":
				args = append(args, g.place())
			case "vx", "vz", "dx", "dz":
				args = append(args, g.motion())
			default:
				args = append(args, g.any())
			}
		}
		if inHooks && d(2) == 0 {
			do = serverHooks[d(len(serverHooks))] + ":" + do
		}
		g.add(tick, do, args...)
	}
}

// simulates reports whether client i can simulate.
func (s *sim) simulates(i int) bool { return s.able>>(i%8)&1 == 1 }

// liftKind is the index of the kinematic kind in tossed.
const liftKind = 2

// addExactKinds adds the kinds that only scripts with simulate have.
func (s *sim) addExactKinds() {
	for _, k := range []world.Kind{
		{Name: "ball", Exact: true, Body: &world.BodyDef{Mass: 1, Drag: 1.5, Radius: 0.3, Restitution: 0.6, Layers: 2}},
		{Name: "rock", Exact: true, Body: &world.BodyDef{Mass: 5, Drag: 0.2, Radius: 0.5, Friction: 0.4, Solid: true}},
		{Name: "lift", Exact: true, Body: &world.BodyDef{Radius: 0.5, Kinematic: true}},
		{Name: "duck", Body: &world.BodyDef{Mass: 1, Drag: 0.5, Radius: 0.3}},
	} {
		kind := must.Get(s.world.AddKind(k))
		s.tossed = append(s.tossed, kind)
	}
}

const breezeProgram = `effect breeze
param wind = (2,0,1,0)
everywhere
output = add output, wind
`

// doClean carries out an operation of cleanOps.
func (s *sim) doClean(o op) {
	a := func(i int) int { return o.args[i] }
	f := func(i int) float32 { return float32(o.args[i]) }
	switch o.do {
	case "simulate":
		s.able = a(0)
	case "toss":
		s.spawn(s.tossed[nth(a(0), len(s.tossed))], f(1), f(2), f(3), f(4))
	case "hit":
		s.world.Impulse(s.pick(a(0)), world.Vec3{X: f(1), Y: float32(nth(a(0), 7)), Z: f(2)})
	case "rouse":
		s.world.Wake(s.pick(a(0)))
	case "lull":
		s.world.Sleep(s.pick(a(0)))
	case "fan":
		s.fan(f(0), f(1), a(2))
	default:
		s.doFan(o)
	}
}

// fan adds an effect at a place. Its form decides the rest.
func (s *sim) fan(x, z float32, form int) {
	text := gustProgram
	if form%16 == 0 {
		text = breezeProgram
	}
	program := s.programs[text]
	if program == nil {
		program = must.Get(field.Compile(text))
		s.programs[text] = program
	}
	d := world.EffectDef{
		Program: program, Center: world.Vec3{X: x, Z: z}, Mode: world.EffectMode(form >> 5 & 1), Layers: world.Layers(form >> 6 & 3 % 3),
		Params: []field.Vec4{{float32(form%23)/3 - 3, 0, float32(form%19)/7 - 1, 0}}, Hidden: form>>8&7 == 0, LifeTicks: uint32(form >> 11 & 3 * 20),
	}
	switch form % 6 {
	case 0, 1:
		d.Velocity = world.Vec3{X: x / 9, Y: 0.25, Z: -z / 7}
	case 2:
		d.Orbit = world.EffectOrbit{AxisU: world.Vec3{X: 9}, AxisV: world.Vec3{Z: 13}, Phase: uint32(form) << 16, Rate: 1 << 25}
	case 3:
		if h := s.pick(form); form&64 != 0 && s.hasBody(h) {
			d.Follow, d.Center = h, world.Vec3{Y: 1}
			s.untold = s.coming() + 1
		}
	}
	id := must.Get(s.world.AddEffect(d))
	s.fans = append(s.fans, id)
	s.concealed[id] = d.Hidden || d.LifeTicks == 1
	s.coverage.fans++
	if s.concealed[id] {
		s.coverage.concealed++
	}
}

func (s *sim) hasBody(h bulk.Handle) bool {
	_, ok := s.world.Position(h)
	return ok
}

// doFan changes or ends an effect.
func (s *sim) doFan(o op) {
	fans := s.liveFans()
	if len(fans) == 0 {
		return
	}
	id := fans[nth(o.args[0], len(fans))]
	e, _ := s.world.Effect(id)
	switch o.do {
	case "turn":
		s.world.MoveEffect(id, e.Path.Center.Add(world.Vec3{X: float32(o.args[1]), Z: float32(o.args[2])}))
	case "tune":
		params := slices.Clone(e.Params)
		params[0] = field.Vec4{float32(o.args[1]) / 8, 0, float32(o.args[2]) / 8, 0}
		s.world.SetEffectParams(id, params)
	case "stop":
		s.world.RemoveEffect(id)
	}
}

// liveFans returns the fans that have not ended.
func (s *sim) liveFans() []world.EffectID {
	s.fans = slices.DeleteFunc(s.fans, func(id world.EffectID) bool {
		_, ok := s.world.Effect(id)
		return !ok
	})
	return s.fans
}

// beginClean prepares a new run. Its world may have effects from an image.
func (s *sim) beginClean() {
	if !s.cleans {
		return
	}
	s.addExactKinds()
	s.fans, s.concealed, s.untold = nil, map[world.EffectID]bool{}, 0
}

// restoreClean takes over the effects of a restored world.
func (s *sim) restoreClean() {
	if !s.cleans {
		return
	}
	for _, e := range s.world.AppendEffects(nil) {
		s.fans = append(s.fans, e.ID)
		s.concealed[e.ID] = e.Hidden
	}
}

// stopFans ends the fans and stops the lifts, so that all bodies come to rest.
func (s *sim) stopFans() {
	for _, id := range slices.Clone(s.liveFans()) {
		s.world.RemoveEffect(id)
	}
	for _, l := range s.living {
		kind, _ := s.world.KindOf(l.handle)
		if _, v, _ := s.world.Slots().Body(l.handle.Index()); v != (world.Vec3{}) && s.cleans && kind == s.tossed[liftKind] {
			s.world.SetVelocity(l.handle, world.Vec3{})
		}
	}
}

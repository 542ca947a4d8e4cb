package simulation

import (
	"cmp"
	"math/rand/v2"
	"slices"
)

// generate returns the script of a seed, with at most the given number of viewers. Seeds
// differ in link conditions, budget, churn, generations left, reconnects and restarts.
func generate(seed uint64, viewers int) *script {
	g := &generator{rng: rand.New(rand.NewPCG(seed, 0x51))}
	d := g.rng.IntN
	g.s = script{
		seed: int(seed), first: 1, slots: 4096, hz: []int{20, 45, 30, 60}[d(4)],
		budget: []int{4_000, 16_000, 64_000}[d(3)], entities: 10 + d(60), viewers: viewers, ticks: 200 + d(200),
	}
	if viewers > 8 {
		g.s.viewers = viewers/2 + d(viewers/2) + 1
	}
	if d(4) == 0 {
		g.s.first = -6 // slots retire after four tenants (H4)
		g.s.slots = 64 << d(6)
	}
	g.links()
	g.churn()
	g.references()
	g.commands()
	g.mishaps()
	g.overload()
	g.owners()
	g.callbacks()
	g.lateAdditions()
	g.rides()
	g.asks()
	g.events(func(do string) string {
		if g.rng.IntN(2) == 0 {
			return do
		}
		return serverHooks[g.rng.IntN(len(serverHooks))] + ":" + do
	})
	g.names()
	g.provisionals()
	g.clean()
	g.starved()
	g.plainRows()
	slices.SortStableFunc(g.s.ops, func(a, b op) int { return cmp.Compare(a.tick, b.tick) })
	return &g.s
}

// plainRows gives some clients of a quarter of the seeds plain rows. It uses a separate source of random
// numbers, so that all other operations stay the same.
func (g *generator) plainRows() {
	g.rng = rand.New(rand.NewPCG(uint64(g.s.seed), 0x53))
	if g.rng.IntN(4) == 0 {
		g.add(0, "plain", 1+g.rng.IntN(255))
	}
}

type generator struct {
	rng *rand.Rand
	s   script
}

func (g *generator) add(tick int, do string, args ...int) {
	g.s.ops = append(g.s.ops, op{tick: tick, do: do, args: args})
}

// often adds an operation in some of the ticks, with arguments from args. percent is the
// approximate share of these ticks.
func (g *generator) often(percent int, do string, args func() []int) {
	for tick := 1; tick <= g.s.ticks; tick++ {
		if g.rng.IntN(100) < percent {
			g.add(tick, do, args()...)
		}
	}
}

func (g *generator) any() int    { return g.rng.IntN(1 << 16) }
func (g *generator) place() int  { return g.rng.IntN(121) - 60 }
func (g *generator) motion() int { return g.rng.IntN(21) - 10 }

// conditions returns a link's conditions: loss up to 30 %, delay up to 500 ms.
func (g *generator) conditions(viewer int) []int {
	d := g.rng.IntN
	least := d(40)
	most := least + d(11)*20
	if d(8) == 0 {
		most = 500
	}
	return []int{viewer, d(7) * 5, d(3) * 10, d(5) * 10, least, most, 120}
}

// links sets all links to the same conditions, later changes single links, adds disconnects
// of up to some seconds, and ends with perfect links.
func (g *generator) links() {
	d := g.rng.IntN
	g.add(0, "link", g.conditions(everybody)...)
	for range d(4) {
		g.add(1+d(g.s.ticks), "link", g.conditions(g.any())...)
	}
	if d(3) == 0 {
		who, from := g.any(), 1+d(g.s.ticks)
		if d(2) == 0 {
			who = everybody
		}
		g.add(from, "link", who, 100, 0, 0, 30, 30, 0)
		g.add(from+20+d(180), "link", g.conditions(who)...)
	}
}

// churn creates and destroys entities: at random, one slot in every tick, or so fast that no
// frame contains them.
func (g *generator) churn() {
	d := g.rng.IntN
	kind := func() int { return []int{0, 0, 0, 0, 1}[d(5)] }
	spawn := func() []int { return []int{kind(), g.place(), g.place(), g.motion(), g.motion()} }
	one := func() []int { return []int{g.any()} }
	rate := []int{10, 60, 90}[d(3)]
	g.often(rate, "destroy", one)
	g.often(rate, "spawn", spawn)
	g.often(rate/2, "destroy", one)
	g.often(rate/2, "spawn", spawn)
	g.often(rate, "move", func() []int { return []int{g.any(), g.place(), g.place()} })
	g.often(rate, "push", func() []int { return []int{g.any(), 3 * g.motion(), 3 * g.motion()} })
	if d(2) == 0 {
		near := func() []int { return []int{g.place() / 2, g.place() / 2} }
		from, to := 1+d(g.s.ticks), 1+d(g.s.ticks)
		for tick := min(from, to); tick < max(from, to); tick++ {
			g.add(tick, "flip", near()...)
		}
	}
	if d(2) == 0 {
		g.often(20, "flash", func() []int { return []int{kind(), g.place() / 2, g.place() / 2} })
	}
}

func (g *generator) references() {
	two := func() []int { return []int{g.any(), g.any()} }
	g.often([]int{5, 50, 90}[g.rng.IntN(3)], "refer", two)
	g.often(20, "unrefer", func() []int { return []int{g.any()} })
}

// commands adds commands on handles in view, on any handle ever issued, and on handles that
// are not issued yet.
func (g *generator) commands() {
	viewer := func(rest ...int) []int { return append([]int{g.any()}, rest...) }
	g.often(15, "poke", func() []int { return viewer(g.any()) })
	g.often(20, "touch", func() []int { return viewer(g.any()) })
	g.often(3, "forge", func() []int { return viewer(g.rng.IntN(100), g.rng.IntN(4)) })
}

// owners gains, loses and transfers ownership, and adds gusts that follow entities.
func (g *generator) owners() {
	d := g.rng.IntN
	if rate := []int{0, 2, 15}[d(3)]; rate > 0 {
		g.often(rate, "own", func() []int { return []int{g.any(), g.any()} })
		g.often(rate, "disown", func() []int { return []int{g.any(), g.any()} })
		g.often(rate, "give", func() []int { return []int{g.any(), g.any(), g.any()} })
	}
	if d(3) == 0 {
		g.often(3, "gust", func() []int { return []int{g.any(), g.any()} })
	}
}

// mishaps adds rare events.
func (g *generator) mishaps() {
	d := g.rng.IntN
	sometime := func() int { return 1 + d(g.s.ticks) }
	if d(3) == 0 {
		for range 1 + d(3) {
			g.add(sometime(), "reconnect", g.any())
		}
	}
	if d(2) == 0 {
		for range 1 + d(4) {
			at, who := sometime(), g.any()
			g.add(at, "cut", who, []int{0, d(40), 900}[d(3)], []int{d(10), d(100), d(250)}[d(3)])
			if d(2) == 0 { // again during the reconnect
				g.add(at+d(60), "cut", who, d(20), d(60))
			}
			if d(2) == 0 {
				g.add(at+d(100), "steal", who, d(256))
			}
		}
	}
	if d(4) == 0 {
		g.add(sometime(), "kill", g.any())
	}
	if d(4) == 0 {
		g.add(sometime(), "join")
	}
	if d(5) == 0 {
		g.add(sometime(), "boast", g.any(), g.any())
		g.add(sometime(), "revive", g.any(), g.any())
		g.often(5, "rewind", func() []int { return []int{g.any(), g.any()} })
	}
	if d(5) == 0 {
		for range 1 + d(10) {
			g.add(sometime(), []string{"corrupt", "mislead"}[d(2)], g.any())
		}
	}
	if d(4) == 0 && !g.s.retiring() {
		at := sometime()
		if d(3) > 0 {
			g.add(max(at-d(60), 1), "save")
		}
		g.add(at, "restart")
	}
	if d(4) == 0 {
		g.quickReturn()
	}
}

// quickReturn is a disconnect that ends on a link without delay, on which the client sends
// commands before the next snapshot.
func (g *generator) quickReturn() {
	d := g.rng.IntN
	at, who, away := 1+d(g.s.ticks), g.any(), 10+d(60)
	g.add(at, "cut", who, 900, away)
	g.add(at, "link", everybody, 0, 0, 0, 0, 0, 0)
	for tick := at + 1; tick < at+away; tick++ { // many entities leave its view meanwhile
		g.add(tick, "move", g.any(), g.place(), g.place())
	}
	for tick := at + away; tick < at+away+8; tick++ {
		for range 4 {
			g.add(tick, "touch", who, g.any())
		}
	}
}

// overload limits the snapshots per tick, changing the limit now and then or in every tick.
func (g *generator) overload() {
	if g.rng.IntN(4) > 0 {
		return
	}
	g.often([]int{2, 10, 100}[g.rng.IntN(3)], "pace", func() []int { return []int{g.any()} })
}

// lateAdditions draws its operations last, so that all other operations stay the same:
// refused joins, drains (also inside hooks), and entities visible from anywhere or to their
// owners only.
func (g *generator) lateAdditions() {
	d := g.rng.IntN
	sometime := func() int { return 1 + d(g.s.ticks) }
	somewhere := func(do string) string {
		if d(2) == 0 {
			return do
		}
		return serverHooks[d(len(serverHooks))] + ":" + do
	}
	if d(3) == 0 {
		for range 1 + d(4) {
			at := sometime()
			g.add(at, somewhere("bar"))
			g.add(at+d(10), "reconnect", g.any())
		}
	}
	if d(6) == 0 && !g.s.retiring() {
		if at := sometime(); d(2) == 0 {
			g.add(max(at-d(60), 1), "save")
			g.add(at, somewhere("drain"))
		} else {
			g.add(at, somewhere("drain"))
		}
	}
	one := func() []int { return []int{g.any()} }
	if d(4) == 0 {
		g.often(5, "light", one)
	}
	if d(4) == 0 {
		g.often(10, "veil", one)
	}
	g.control(somewhere)
}

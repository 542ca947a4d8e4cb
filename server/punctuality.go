package server

const (
	// A window of ticks is bad if at least badShare of them were late or never made, and
	// good if less than goodShare were.
	badShare  = 1.0 / 2
	goodShare = 1.0 / 8
	// badWindows in a row make a server not ready, and goodWindows in a row make it ready
	// again. One stall, however long, is one window.
	badWindows  = 3
	goodWindows = 5
)

// punctuality says whether a world keeps up with the clock, from what became of its
// ticks.
type punctuality struct {
	window    uint64 // ticks: a second of them
	due       uint64 // in this window
	unkept    uint64 // of these, late or never made
	bad, good int    // windows in a row
	behind    bool
}

// tick takes one tick, and how many were given up ahead of it. It returns true if
// behind changes.
func (p *punctuality) tick(late bool, skipped uint64) bool {
	p.due += 1 + skipped
	p.unkept += skipped
	if late {
		p.unkept++
	}
	if p.due < p.window {
		return false
	}
	share := float64(p.unkept) / float64(p.due)
	p.due, p.unkept = 0, 0
	p.bad, p.good = inARow(p.bad, share >= badShare), inARow(p.good, share < goodShare)
	was := p.behind
	p.behind = p.bad >= badWindows || was && p.good < goodWindows
	return p.behind != was
}

func inARow(n int, again bool) int {
	if again {
		return n + 1
	}
	return 0
}

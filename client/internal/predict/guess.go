package predict

import (
	"cmp"
	"slices"
)

// A search for the server's inputs takes minTrials steps, or trialsPerTick for each tick
// searched if that is more, but at most maxTrials.
const (
	minTrials     = 1024
	maxTrials     = 4096
	trialsPerTick = 16
)

// guess is a search for the inputs with which the server stepped. A snapshot names the newest
// input that the server had applied. It names neither the missed inputs nor the ticks at which
// the server applied late ones.
type guess struct {
	from   []uint32 // inputs that the server may have applied, by descending ticks
	inputs []uint32 // one for each tick after the confirmed one
	trials int      // steps left
	trying bool     // steps have no effects during the search
}

// explainByInputs searches for inputs, some missed or applied late, with which the step
// function gives the server's state at tick. It predicts up to tick with them, so that the
// state keeps its full precision. If it finds none, it predicts as if every input that the
// server had applied had been in time.
func (p *Core) explainByInputs(judged judgements, tick uint32) bool {
	g := &p.guess
	g.from, g.inputs, g.trials = g.from[:0], g.inputs[:0], int(min(max(minTrials, trialsPerTick*(tick-p.confirmed)), maxTrials))
	most := min(tick, p.session.AppliedInput())
	for _, t := range p.inputs.ticks {
		if t != 0 && t >= p.applied && t <= most {
			g.from = append(g.from, t)
		}
	}
	if held := p.inputs.held; !slices.Contains(g.from, held) && held >= p.applied && held <= most {
		g.from = append(g.from, held)
	}
	if p.applied == 0 && !slices.Contains(g.from, 0) {
		g.from = append(g.from, 0) // the server may have applied none yet
	}
	if len(g.from) == 0 {
		return false
	}
	slices.SortFunc(g.from, func(a, b uint32) int { return cmp.Compare(b, a) })
	g.trying = true
	found := p.searchInputs(judged, p.confirmed+1, tick, 0)
	g.trying = false
	if p.failed == nil {
		p.predictByGuess(tick, found)
	}
	return found && p.failed == nil
}

// searchInputs tries the inputs for ticks t to tick. oldest is the oldest input that the server
// may use. The server never applies an input before its tick, or after a newer one.
func (p *Core) searchInputs(judged judgements, t, tick, oldest uint32) bool {
	g, isNewest, newestInput := &p.guess, tick == p.session.Tick(), p.session.AppliedInput()
	for _, input := range g.from {
		if input < oldest || g.trials == 0 || p.failed != nil {
			return false
		}
		if input > t || t == tick && isNewest && input != newestInput {
			continue
		}
		g.trials--
		g.inputs = append(g.inputs, input)
		p.tryInput(t, input)
		if p.failed == nil && (t < tick && p.searchInputs(judged, t+1, tick, input) || t == tick && judged.matchStates(p.slotOf(tick))) {
			return true
		}
		g.inputs = g.inputs[:len(g.inputs)-1]
	}
	return false
}

func (p *Core) tryInput(t, input uint32) {
	defer p.recoverStep()
	p.callStep(t, p.inputs.slotOfInput(input))
}

// predictByGuess predicts up to tick with the inputs found.
func (p *Core) predictByGuess(tick uint32, found bool) {
	defer p.recoverStep()
	g := &p.guess
	for t := p.confirmed + 1; t <= tick; t++ {
		input := heldSlot
		if found {
			input = p.inputs.slotOfInput(g.inputs[t-p.confirmed-1])
		} else if i := slices.IndexFunc(g.from, func(in uint32) bool { return in <= t }); i >= 0 {
			input = p.inputs.slotOfInput(g.from[i])
		}
		p.predictTick(t, input)
	}
}

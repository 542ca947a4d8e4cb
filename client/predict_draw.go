package client

import (
	"math"
	"time"

	"github.com/worldd/worldd/replication/schema"
)

// blend is the difference between what is drawn and what is predicted. It shrinks with
// time and never reaches the states (C10).
type blend struct {
	offset []float64
	way    []float64     // scratch: of one offset
	on     bool          // something was drawn
	tick   float64       // the tick last drawn
	at     time.Duration // when
}

func (b *blend) reset() {
	b.on = false
	clear(b.offset)
}

// draw writes the state to draw to the scratch slot.
func (p *prediction) draw(m Moment) bool {
	if !p.running {
		return false
	}
	b, tick := &p.blend, m.inputTick
	if tick == 0 { // the server's time is unknown
		tick = float64(p.newest)
	}
	if b.on {
		passed := max(m.now-b.at, 0)
		share := math.Exp2(-float64(passed) / float64(blendHalfLife))
		for i := range b.offset {
			b.offset[i] *= share
		}
		// Time passes evenly, but inputs may be made for later or earlier ticks than before.
		if even := b.tick + p.session.clock.ticks(passed); even != tick {
			p.interpolate(even)
			p.copyState(older, scratch)
			p.interpolate(tick)
			p.addOffset()
		}
	}
	b.on, b.tick, b.at = true, tick, m.now
	p.interpolate(tick)
	for i := range p.parts {
		c := &p.parts[i]
		p.session.declared.Move(c.number, c.at[scratch], b.offset[c.first:c.first+c.count], 1)
	}
	p.setTexts(scratch)
	return true
}

// interpolate writes the state at a tick with fractions to the scratch slot.
func (p *prediction) interpolate(tick float64) {
	tick = min(max(tick, float64(p.confirmed)), float64(p.newest))
	from := uint32(tick)
	left := float64(from) + 1 - tick // ticks to the next state
	if left == 1 {
		p.copyState(scratch, slotOf(from))
		return
	}
	to := slotOf(from + 1)
	p.copyState(scratch, to)
	for i := range p.parts {
		c := &p.parts[i]
		way := p.blend.way[c.first : c.first+c.count]
		p.session.declared.Offset(c.number, c.at[slotOf(from)], c.at[to], way)
		p.limit(c.spans, way)
		p.session.declared.Move(c.number, c.at[scratch], way, -left)
	}
}

// before notes what is drawn, ahead of a correction.
func (b *blend) before(p *prediction) {
	p.interpolate(b.tick)
	p.copyState(older, scratch)
}

// after blends the correction.
func (b *blend) after(p *prediction) {
	if p.running && b.on {
		p.interpolate(b.tick)
		p.addOffset()
	}
}

// addOffset adds the way from the scratch slot to the older slot to the offset, so that
// both look alike.
func (p *prediction) addOffset() {
	for i := range p.parts {
		c := &p.parts[i]
		way, offset := p.blend.way[c.first:c.first+c.count], p.blend.offset[c.first:c.first+c.count]
		p.session.declared.Offset(c.number, c.at[scratch], c.at[older], way)
		for j, v := range way {
			offset[j] += v
		}
		p.limit(c.spans, offset)
	}
}

// limit makes the spans of an offset 0 that are too long to be blended, and turns go the
// shorter way.
func (p *prediction) limit(spans []schema.Span, offset []float64) {
	for _, s := range spans {
		v := offset[s.First : s.First+s.Count]
		length := 0.0
		for _, x := range v {
			length += float64(x * x)
		}
		length = math.Sqrt(length)
		scale := 1.0
		switch {
		case s.Turn && length > math.Pi:
			scale = math.Remainder(length, 2*math.Pi) / length
		case !s.Turn && length > p.snap:
			scale = 0
		}
		for i := range v {
			v[i] *= scale
		}
	}
}

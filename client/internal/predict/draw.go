package predict

import (
	"math"
	"time"

	"github.com/worldd/worldd/internal/rowschema"
)

// blendHalfLife is the time after which half of a misprediction is still drawn.
const blendHalfLife = 80 * time.Millisecond

// blend is the difference between the drawn and the predicted state. It shrinks with time and
// never reaches the states (C10).
type blend struct {
	offset []float64
	way    []float64     // scratch: a single offset
	on     bool          // something was drawn
	tick   float64       // tick last drawn
	at     time.Duration // when tick was drawn
}

// noteDrawn notes that tick was drawn at now.
func (b *blend) noteDrawn(tick float64, now time.Duration) { b.on, b.tick, b.at = true, tick, now }

// beginAt begins a new offset at now.
func (b *blend) beginAt(now time.Duration) {
	b.at = now
	clear(b.offset)
}

func (b *blend) resetOffset() {
	b.on = false
	clear(b.offset)
}

// drawToScratch writes the state to draw to the scratch slot.
func (s *subject) drawToScratch(m Moment) bool {
	p := s.of
	if p.phase == stopped {
		return false
	}
	b, tick := &s.blend, p.drawnTick(m)
	if b.on {
		passed := b.fadeOffset(m.Now)
		// Time passes evenly, but an input may be made for a later or earlier tick than
		// expected.
		if even := b.tick + p.session.Ticks(passed); even != tick {
			s.interpolateAt(even)
			s.states.copyValue(older, scratch)
			s.interpolateAt(tick)
			s.addOffset()
		}
	}
	b.noteDrawn(tick, m.Now)
	s.interpolateAt(tick)
	s.moveByOffset()
	s.writeTexts(scratch)
	return true
}

// drawnTick returns the tick to draw at m, with a fraction.
func (p *Core) drawnTick(m Moment) float64 {
	if m.InputTick == 0 { // the server's time is unknown
		return float64(p.newest)
	}
	return m.InputTick
}

// fadeOffset shrinks the offset by the time until now, and returns that time.
func (b *blend) fadeOffset(now time.Duration) (passed time.Duration) {
	passed = max(now-b.at, 0)
	b.at = now
	share := math.Exp2(-float64(passed) / float64(blendHalfLife))
	for i := range b.offset {
		b.offset[i] *= share
	}
	return passed
}

// moveByOffset moves the scratch slot by the offset.
func (s *subject) moveByOffset() {
	for i := range s.parts {
		c := &s.parts[i]
		c.of.Move(c.at[scratch], s.blend.offset[c.first:c.first+c.count], 1)
	}
}

// interpolateAt writes the state at a fractional tick to the scratch slot.
func (s *subject) interpolateAt(tick float64) {
	tick = min(max(tick, float64(s.of.confirmed)), float64(s.of.newest))
	from := uint32(tick)
	left := float64(from) + 1 - tick // ticks to the next state
	if left == 1 {
		s.states.copyValue(scratch, s.of.slotOf(from))
		return
	}
	to := s.of.slotOf(from + 1)
	s.states.copyValue(scratch, to)
	for i := range s.parts {
		c := &s.parts[i]
		way := s.blend.way[c.first : c.first+c.count]
		c.of.Offset(c.at[s.of.slotOf(from)], c.at[to], way)
		s.limitOffset(c.spans, way)
		c.of.Move(c.at[scratch], way, -left)
	}
}

// forgetDrawn ends the blending.
func (s *subject) forgetDrawn() { s.blend.resetOffset() }

// beginOffset sets the offset to the difference between the older slot and the scratch slot.
func (s *subject) beginOffset(now time.Duration) {
	s.blend.beginAt(now)
	s.addOffset()
}

// moveByFading shrinks the offset by the time until now, and moves the scratch slot by it.
func (s *subject) moveByFading(now time.Duration) {
	s.blend.fadeOffset(now)
	s.moveByOffset()
}

// blendFromShown adds the difference between what Component.At returns of e and the predicted state to the offset.
func (s *subject) blendFromShown(e Entity, m Moment) {
	s.blend.noteDrawn(s.of.drawnTick(m), m.Now)
	s.writeShown(e, m, older)
	s.interpolateAt(s.blend.tick)
	s.addOffset()
}

// keepDrawn copies the drawn state to the older slot, before a correction.
func (s *subject) keepDrawn() {
	s.interpolateAt(s.blend.tick)
	s.states.copyValue(older, scratch)
}

// blendFromDrawn adds the difference between the drawn and the corrected state to the offset.
func (s *subject) blendFromDrawn() {
	if s.of.phase != stopped && s.blend.on {
		s.interpolateAt(s.blend.tick)
		s.addOffset()
	}
}

// followTeleport draws the corrected state at once if the server has teleported e after a tick.
func (s *subject) followTeleport(e Entity, since uint32) {
	if e.Teleported() > since {
		clear(s.blend.offset)
	}
}

// addOffset adds the difference between the older slot and the scratch slot to the offset, so
// that the drawn state does not change.
func (s *subject) addOffset() {
	for i := range s.parts {
		c := &s.parts[i]
		way, offset := s.blend.way[c.first:c.first+c.count], s.blend.offset[c.first:c.first+c.count]
		c.of.Offset(c.at[scratch], c.at[older], way)
		for j, v := range way {
			offset[j] += v
		}
		s.limitOffset(c.spans, offset)
	}
}

// limitOffset sets the spans of an offset to 0 that are too long to blend, and makes rotations
// take the shorter way.
func (s *subject) limitOffset(spans []rowschema.Span, offset []float64) {
	for _, span := range spans {
		v := offset[span.First : span.First+span.Count]
		length := 0.0
		for _, x := range v {
			length += float64(x * x)
		}
		length = math.Sqrt(length)
		scale := 1.0
		switch {
		case span.Turn && length > math.Pi:
			scale = math.Remainder(length, 2*math.Pi) / length
		case !span.Turn && length > s.of.config.Snap:
			scale = 0
		}
		for i := range v {
			v[i] *= scale
		}
	}
}

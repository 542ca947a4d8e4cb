package main

import (
	"slices"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world/motion"
)

// dart is the client's prediction of the player's own missile. The server's missile is shown in
// the past, and would appear a round trip after the key press. The prediction need not be
// exact, since its picture blends into the server's missile.
type dart struct {
	name     bulk.Handle // provisional, then the missile's: Resolve gives its verdict
	at       motion.Vec3
	velocity motion.Vec3
	target   bulk.Handle
	real     float64 // ticks for which the server's missile has been in view
}

// blendTicks is how long the picture blends from the prediction to the server's missile.
const blendTicks = TickHz / 3

// flyDarts moves the predicted missiles by a number of ticks, as Arena.guide does. It drops
// missiles that the server refused, that have exploded, or whose picture has become the
// server's.
func (p *Player) flyDarts(ticks float64) {
	seconds := float32(ticks / TickHz)
	for i := range p.darts {
		d := &p.darts[i]
		ahead := d.velocity
		if target, ok := p.Ship(d.target); ok {
			ahead = motion.VecOf(target.At).Sub(d.at)
		}
		if l := ahead.Len(); l > 0 {
			d.velocity = d.velocity.Add(ahead.Scale(Thrust * seconds / l))
		}
		d.velocity = d.velocity.Scale(max(1-Drag*seconds, 0))
		d.at = d.at.Add(d.velocity.Scale(seconds))
		if p.client.Resolve(d.name) == wire.Live {
			d.real += ticks
		}
	}
	p.darts = slices.DeleteFunc(p.darts, func(d dart) bool {
		return d.real >= blendTicks || p.client.Resolve(d.name) == wire.Stale
	})
}

// blended returns where to draw a dart.
func (p *Player) blended(d dart) [3]float32 {
	body, ok := client.Body.At(p.client.Replica().Entity(d.name), p.moment)
	if !ok {
		return d.at.Array()
	}
	way := motion.VecOf(body.Position).Sub(d.at)
	return d.at.Add(way.Scale(float32(d.real / blendTicks))).Array()
}

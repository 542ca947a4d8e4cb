package bots

import (
	"math"
	"time"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/scenes/messages"
)

// sightings are the newest ticks for which a bot knows an avatar's state.
type sightings struct {
	ticks [32]uint32
	n     int
}

func (s *sightings) addTick(tick uint32) {
	s.ticks[s.n%len(s.ticks)] = tick
	s.n++
}

// ticksAround returns the ticks next to a moment, the later one at or after it; 0: none.
func (s *sightings) ticksAround(moment float64) (before, after uint32) {
	for _, t := range s.ticks[:min(s.n, len(s.ticks))] {
		if float64(t) <= moment {
			before = max(before, t)
		} else if after == 0 || t < after {
			after = t
		}
	}
	return before, after
}

// noteSighting records that a state of an avatar has arrived.
func (c *combat) noteSighting(e *client.Entity) {
	if c.Scenario != Combat {
		return
	}
	s := c.avatars[e.Handle()]
	if s == nil {
		s = &sightings{}
		c.avatars[e.Handle()] = s
	}
	s.addTick(e.Tick())
}

const (
	// certainGap is the longest gap between two states of an avatar, in ticks, within which its
	// drawn position is accurate to certainMetres: it may turn in between.
	certainGap    = 6
	certainMetres = 0.4
	// drawnAvatars bounds the avatars that a shot remembers.
	drawnAvatars = 64
)

// drawn is an avatar as it was drawn. certain: the states around the moment are close together.
type drawn struct {
	handle  bulk.Handle
	at      [3]float32
	certain bool
}

// shot is an unanswered shot.
type shot struct {
	target bulk.Handle
	aim    float64
	moment uint32 // in 1/256 ticks
	drawn  []drawn
}

// shootIfDue shoots at an avatar as it is drawn, if a shot is due.
func (c *combat) shootIfDue(now time.Time) error {
	own, ok := c.prediction.State()
	if now.Before(c.nextShot) || !ok || c.moment.Tick == 0 {
		return nil
	}
	s := shot{moment: uint32(c.moment.Tick * 256)}
	best := math.Inf(1)
	for h, seen := range c.avatars {
		if h == c.client.Controlled() || len(s.drawn) == drawnAvatars {
			continue
		}
		body, ok := client.Body.At(c.client.Replica().Entity(h), c.moment)
		if !ok {
			continue
		}
		before, after := seen.ticksAround(c.moment.Tick)
		d := drawn{h, body.Position, before > 0 && after > 0 && after-before <= certainGap}
		s.drawn = append(s.drawn, d)
		if far := distanceOf(body.Position, own.Position); far < best && far > 2 && far < float64(c.rules.Range) {
			best, s.target = far, h
			s.aim = math.Atan2(float64(body.Position[2]-own.Position[2]), float64(body.Position[0]-own.Position[0]))
		}
	}
	if s.target == 0 {
		return nil
	}
	c.nextShot = c.pauseFrom(now, shootEvery)
	asked, err := client.Ask(c.client, messages.ShootCommand, 0, messages.Shoot{Aim: float32(s.aim)})
	if err != nil {
		return err
	}
	c.shots[asked.ID()] = s
	return nil
}

// checkShot compares the answer to a shot with what the bot had drawn (B13).
func (c *combat) checkShot(s shot, a messages.Shot) {
	c.Count(shots, 1)
	switch a.Hit {
	case s.target:
		c.Count(hits, 1)
	case 0:
		c.Count(shotsMissed, 1)
	default:
		c.Count(shotsBlocked, 1)
	}
	c.Learn(a.Hit)
	if a.Hit != 0 && a.Hit == c.client.Controlled() {
		c.Report(a.Hit, 0, "B13: this bot has hit itself")
	}
	drawnTick, view := uint16(s.moment/256), int32(a.View)<<8|int32(a.Fraction)
	later := int32(int16(a.View-drawnTick))*256 + view&255 - int32(s.moment&255)
	if later != 0 || !a.Named {
		c.Count(shotsCapped, 1)
		if age := a.Tick - a.View; later > 0 && age+1 < c.rules.ViewTicks {
			c.Report(s.target, 0, "B13: a shot is judged %.1f ticks later than it was drawn, %d ticks ago, and %d are allowed", float64(later)/256, age, c.rules.ViewTicks)
		}
		return
	}
	judged := false
	for _, d := range s.drawn {
		if _, shown := c.hearing.isShown(d.handle); !d.certain || !shown {
			continue
		}
		judged = true
		away, along := fromRay(a.From, s.aim, d.at)
		within := along > 0 && along < float64(c.rules.Range)
		switch {
		case a.Hit == 0 && within && away < float64(c.rules.Radius)-certainMetres:
			c.Report(d.handle, 0, "B13: a shot passes %.2f m from where it was drawn, and hits nothing", away)
		case a.Hit == d.handle && (along < -float64(c.rules.Radius) || away > float64(c.rules.Radius)+certainMetres):
			c.Report(d.handle, 0, "B13: a shot hits it, and it was drawn %.2f m from there", away)
		}
	}
	if judged {
		c.Count(shotsJudged, 1)
	}
}

// fromRay returns the distance of a point from a horizontal ray, and its position along the
// ray.
func fromRay(from [3]float32, aim float64, at [3]float32) (away, along float64) {
	x, y, z := float64(at[0]-from[0]), float64(at[1]-from[1]), float64(at[2]-from[2])
	sin, cos := math.Sincos(aim)
	along = x*cos + z*sin
	return math.Hypot(z*cos-x*sin, y), along
}

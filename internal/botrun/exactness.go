package botrun

import (
	"fmt"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client"
)

// Motion reports the bodies that bots compute themselves.
type Motion struct {
	CleanBodies    float64 `json:"clean_bodies"`      // mean over a bot's snapshots of the bodies that it computes
	OwedPerClientS float64 `json:"owed_per_client_s"` // exact states in rows: something had disturbed a body
	BodyTicks      uint64  `json:"body_ticks"`        // of awake bodies
	Rerun          uint64  `json:"body_ticks_rerun"`  // part of body_ticks computed late
	Audits         uint64  `json:"audits"`
	Faults         uint64  `json:"prediction_faults"` // audits that failed
	Overruns       uint64  `json:"motion_overruns"`   // times that computing took too long
}

// exactness counts what one or several bots computed.
type exactness struct {
	client.MotionStats
	clean       uint64 // sum over counted snapshots of the bodies computed
	looks       uint64
	divergences []Divergence // of one bot
}

// Divergence is a failed audit: the states of some entities differ from those that the bot
// computed.
type Divergence struct {
	Bot      int           `json:"bot"`
	Tick     uint32        `json:"tick"`
	Entities []bulk.Handle `json:"entities"`
}

// String returns a one-line summary.
func (d Divergence) String() string {
	return fmt.Sprintf("bot %d, tick %d: the states of %v are not the server's", d.Bot, d.Tick, d.Entities)
}

// recordDivergence records a failed audit of a bot (B15).
func (e *exactness) recordDivergence(bot int, tick uint32, entities []bulk.Handle) {
	if len(e.divergences) < recordedDivergences {
		e.divergences = append(e.divergences, Divergence{bot, tick, entities})
	}
}

// countBodies records how many bodies are computed at a snapshot.
func (e *exactness) countBodies(m client.MotionStats) {
	e.clean, e.looks = e.clean+uint64(m.Clean), e.looks+1
}

// withClient returns e plus the counts of a client, which may be nil.
func (e exactness) withClient(c *client.Client) exactness {
	if c != nil {
		e = e.plus(exactness{MotionStats: c.Replica().Stats().Motion})
	}
	return e
}

// addClient adds the counts of a client, which may be nil, before the bot replaces it.
func (e *exactness) addClient(c *client.Client) {
	divergences := e.divergences
	*e = e.withClient(c)
	e.divergences = divergences
}

// plus returns the sum of two counts, without divergences.
func (e exactness) plus(o exactness) exactness {
	return exactness{
		MotionStats: client.MotionStats{
			Owed: e.Owed + o.Owed, Steps: e.Steps + o.Steps, Rerun: e.Rerun + o.Rerun,
			Audited: e.Audited + o.Audited, Faults: e.Faults + o.Faults, Overruns: e.Overruns + o.Overruns,
		},
		clean: e.clean + o.clean, looks: e.looks + o.looks,
	}
}

// motionReport returns the report of e. owed is the number of owed states within seconds
// seconds of bots.
func (e exactness) motionReport(owed uint64, seconds float64) *Motion {
	m := &Motion{
		CleanBodies: meanOf(e.clean, e.looks), BodyTicks: e.Steps, Rerun: e.Rerun,
		Audits: e.Audited, Faults: e.Faults, Overruns: e.Overruns,
	}
	if seconds > 0 {
		m.OwedPerClientS = roundDown(float64(owed)/seconds, 1)
	}
	return m
}

// meanOf returns sum / n, or 0 without samples.
func meanOf(sum, n uint64) float64 {
	if n == 0 {
		return 0
	}
	return roundDown(float64(sum)/float64(n), 1)
}

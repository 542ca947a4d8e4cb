package bot

import (
	"math"
	"time"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/scenes/messages"
	"github.com/worldd/worldd/internal/scenes/steering"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
)

// Fight is the report of the scenario Combat. Errors are distances between the predicted
// position and each of the server's states.
type Fight struct {
	CombatChecks
	P50Mm *float64 `json:"prediction_error_p50_mm"`
	P99Mm *float64 `json:"prediction_error_p99_mm"`
	MaxMm *float64 `json:"prediction_error_max_mm"`
}

// CombatChecks counts what bots of the scenario Combat do and check.
type CombatChecks struct {
	// Shots are answered shots at avatars as they were drawn. Hits hit their target, Blocked
	// shots another avatar. Capped shots were judged at another moment than the drawn one,
	// because that was older than the server allows, or newer than the state that the bot had
	// acknowledged.
	Shots   uint64 `json:"shots"`
	Hits    uint64 `json:"hits"`
	Blocked uint64 `json:"shots_blocked"`
	Missed  uint64 `json:"shots_missed"`
	Capped  uint64 `json:"shots_capped"`
	Judged  uint64 `json:"shots_judged"` // shots whose answers the bots could compute themselves
	// Provisionals are provisional handles of answered launches. Bound handles became missiles,
	// of which Unseen died before they entered; the others were rejected.
	Provisionals uint64 `json:"provisional_handles"`
	Bound        uint64 `json:"provisional_handles_bound"`
	Rejected     uint64 `json:"provisional_handles_rejected"`
	Unseen       uint64 `json:"missiles_unseen"`
	// Agreed states of the server equalled the prediction, Corrected ones differed. Of these,
	// Explained ones differed because the server had not applied an input or had lost one, or
	// because the prediction began with a rounded state. Unexplained ones have no such reason.
	Agreed      uint64 `json:"predictions_agreed"`
	Corrected   uint64 `json:"corrections"`
	Explained   uint64 `json:"corrections_explained"`
	Unexplained uint64 `json:"corrections_unexplained"`
}

func (c *CombatChecks) add(o CombatChecks) {
	c.Shots, c.Hits, c.Blocked, c.Missed = c.Shots+o.Shots, c.Hits+o.Hits, c.Blocked+o.Blocked, c.Missed+o.Missed
	c.Capped, c.Judged = c.Capped+o.Capped, c.Judged+o.Judged
	c.Provisionals, c.Bound, c.Rejected, c.Unseen = c.Provisionals+o.Provisionals, c.Bound+o.Bound, c.Rejected+o.Rejected, c.Unseen+o.Unseen
	c.Agreed, c.Corrected = c.Agreed+o.Agreed, c.Corrected+o.Corrected
	c.Explained, c.Unexplained = c.Explained+o.Explained, c.Unexplained+o.Unexplained
}

const (
	// fightFrames is the number of frames that a fighting bot draws per second.
	fightFrames = 30
	// shootEvery and launchEvery are mean pauses. Some launches follow the last one too soon,
	// and are refused.
	shootEvery  = 400 * time.Millisecond
	launchEvery = 800 * time.Millisecond
)

// combat is the fighting part of a bot: it predicts its avatar, shoots and launches.
type combat struct {
	*helm
	checks     CombatChecks
	errors     []int64 // of predicted positions, µm, since the last publish
	described  *client.Query[messages.Rules]
	rules      messages.Rules
	prediction *client.Prediction[schema.Body]
	before     client.PredictionStats
	at         schema.Body // predicted state before the present Update
	predicted  bool
	stick      steering.Stick
	changed    uint32 // tick of the newest change of the stick
	steady     bool   // the server had applied that change or a later input by the newest state
	named      uint32 // tick of the newest input
	recalled   uint32 // first tick above all inputs made before the server's time last went back
	compared   uint64 // states compared
	corrected  uint64 // states that differed
	moment     client.Moment
	nextShot   time.Time
	nextLaunch time.Time
	avatars    map[bulk.Handle]*sightings
	shots      map[uint32]shot      // unanswered shots by command
	launches   map[uint32][]missile // unanswered launches by command
	answered   []missile            // the newest answered missiles
	serial     uint32
}

func newCombat(h *helm) combat {
	return combat{helm: h, avatars: map[bulk.Handle]*sightings{}, shots: map[uint32]shot{}, launches: map[uint32][]missile{}}
}

// forgetSession forgets data of the session, and data of its client if newClient is set.
func (c *combat) forgetSession(newClient bool) {
	next := newCombat(c.helm)
	next.checks, next.errors, next.serial = c.checks, c.errors, c.serial
	if !newClient {
		next.prediction, next.rules, next.before = c.prediction, c.rules, c.before
	}
	*c = next
}

// playFrame plays a frame of a fighting bot, after Update.
func (c *combat) playFrame(now time.Time, fresh bool) error {
	if c.prediction == nil {
		return c.learnRules()
	}
	if err := c.prediction.Err(); err != nil {
		return err
	}
	c.checkPrediction()
	c.moment = c.client.Render()
	if fresh {
		c.stick = c.nextStick()
		c.checkMissiles()
	}
	tick, turned, err := c.holdStick(now, c.stick)
	c.noteInput(tick, turned)
	if err != nil {
		return err
	}
	if len(c.unanswered) >= maxUnanswered {
		return nil
	}
	if err := c.shootIfDue(now); err != nil {
		return err
	}
	return c.launchIfDue(now)
}

// learnRules asks for the rules, and begins to predict by them. Until then the bot stands
// still, since the prediction must know every input.
func (c *combat) learnRules() error {
	if c.described == nil {
		q, err := client.Ask(c.client, messages.DescribeCommand, 0, messages.Describe{})
		if err != nil {
			return err
		}
		c.described = q
		c.noteCommand(q.ID(), 0)
		return nil
	}
	rules, r, ok := c.described.Poll()
	if !ok || r.Err != nil {
		return r.Err
	}
	c.rules = rules
	motion := steering.Motion{TickHz: float32(c.client.Welcome().TickHz), Speed: rules.Speed, HalfX: rules.HalfX, HalfZ: rules.HalfZ}
	var err error
	c.prediction, err = client.Predict(c.client, func(_ uint32, body *schema.Body, s steering.Stick) { motion.Step(body, s) }, client.PredictConfig{})
	return err
}

// beforeUpdate remembers the predicted state before an Update, which may correct it.
func (c *combat) beforeUpdate() {
	if c.prediction != nil {
		c.at, c.predicted = c.prediction.State()
		c.before = c.prediction.Stats()
	}
}

// checkPrediction measures the correction of the last Update. Only its stick moves an avatar,
// so there should be no correction once the server has applied the newest change of the stick
// (B14).
func (c *combat) checkPrediction() {
	now, was := c.prediction.Stats(), c.before
	c.before = now
	agreed, corrected := now.Agreed-was.Agreed, now.Corrected-was.Corrected
	c.checks.Agreed += agreed
	c.checks.Corrected += corrected
	c.checks.Explained += now.Missed - was.Missed
	if agreed+corrected == 0 {
		return
	}
	off := 0.0
	if at, ok := c.prediction.State(); ok && c.predicted && now.Predicted == was.Predicted {
		off = distanceOf(at.Position, c.at.Position)
		c.errors = append(c.errors, int64(off*1e6))
	}
	c.compared, c.corrected = c.compared+agreed+corrected, c.corrected+corrected
	own := c.client.Controlled()
	switch {
	case corrected > 0 && c.steady && off > roundingMetres && !c.oracle.mayMissEvents():
		c.checks.Unexplained += corrected
		c.oracle.reportConfusion(own, 0, "B14: its state at tick %d is %.0f mm off the predicted one, with a steady stick since tick %d", now.Confirmed, 1000*off, c.changed)
	case c.compared >= comparedStates:
		if c.corrected > c.compared/2 {
			c.checks.Unexplained += c.corrected
			c.oracle.reportConfusion(own, 0, "B14: of %d states up to tick %d, %d were not as predicted", c.compared, now.Confirmed, c.corrected)
		}
		c.compared, c.corrected = 0, 0
	}
	r := c.client.Replica()
	c.steady = now.Confirmed == r.Tick() && max(c.changed, c.recalled) <= r.AppliedInput()
}

// noteInput records the tick of a new input. After a stall the server's time goes back. It then
// has inputs for ticks that the client has dropped and does not predict. The server applies
// them, and keeps using the last one until a later input arrives.
func (c *combat) noteInput(tick uint32, turned bool) {
	if turned {
		c.changed, c.steady = tick, false
	}
	if tick < c.named {
		c.recalled = max(c.recalled, c.named+1)
	}
	c.named = tick
}

const (
	// roundingMetres bounds the error of a prediction that began with a rounded state: a step
	// of schema.Body in each direction.
	roundingMetres = 0.01
	// comparedStates is the number of states that are judged together: most must equal the
	// prediction.
	comparedStates = 200
)

// launchIfDue launches missiles if a launch is due.
func (c *combat) launchIfDue(now time.Time) error {
	m := c.oracle.find(c.client.Controlled())
	if now.Before(c.nextLaunch) || m == nil || m.identity == 0 {
		return nil
	}
	c.nextLaunch = c.pauseFrom(now, launchEvery)
	l := messages.Launch{
		Aim: float32(2 * math.Pi * c.rng.Float64()), Serial: c.serial,
		LeftLife: c.drawLife(), RightLife: c.drawLife(),
	}
	var err error
	for _, h := range []*bulk.Handle{&l.Left, &l.Right} {
		if *h, err = c.client.Provisional(); err != nil {
			return err
		}
	}
	asked, err := client.Do(c.client, messages.LaunchCommand, 0, l)
	if err != nil {
		return err
	}
	c.serial++
	c.launches[asked.ID()] = []missile{
		{handle: l.Left, serial: 2 * l.Serial, life: l.LeftLife, maker: m.identity},
		{handle: l.Right, serial: 2*l.Serial + 1, life: l.RightLife, maker: m.identity},
	}
	c.noteCommand(asked.ID(), 0)
	return nil
}

// drawLife draws a missile's life in ticks. One missile in four is not made, and one dies
// before it can enter.
func (c *combat) drawLife() uint8 {
	switch c.rng.IntN(4) {
	case 0:
		return 0
	case 1:
		return 1
	}
	return uint8(20 + c.rng.IntN(200))
}

// takeResult handles the result of a shot, a launch or a request for the rules, and returns
// true for such a result.
func (c *combat) takeResult(r client.Result) bool {
	if s, ok := c.shots[r.ID]; ok {
		delete(c.shots, r.ID)
		if answer, ok := r.Answer.(messages.Shot); ok {
			c.checkShot(s, answer)
		} else if code := wire.CodeOf(r.Err); code != wire.RateLimited {
			c.oracle.reportConfusion(0, 0, "B13: a shot is refused with %v: %v", code, r.Err)
		}
		return true
	}
	if missiles, ok := c.launches[r.ID]; ok {
		delete(c.launches, r.ID)
		c.checkLaunch(missiles, wire.CodeOf(r.Err))
		return true
	}
	return c.described != nil && c.described.ID() == r.ID
}

// forgetCommand forgets a command that will not be answered.
func (c *combat) forgetCommand(id uint32) {
	delete(c.shots, id)
	delete(c.launches, id)
}

func distanceOf(a, b [3]float32) float64 {
	sum := 0.0
	for i := range a {
		d := float64(a[i]) - float64(b[i])
		sum += d * d
	}
	return math.Sqrt(sum)
}

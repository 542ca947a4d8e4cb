package bots

import (
	"math"
	"time"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/scenes/messages"
	"github.com/worldd/worldd/internal/scenes/steering"
	"github.com/worldd/worldd/loadtest/bot"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
)

const (
	// shootEvery and launchEvery are mean pauses. Some launches follow the last one too soon,
	// and are refused.
	shootEvery  = 400 * time.Millisecond
	launchEvery = 800 * time.Millisecond
)

// combat is the fighting part of a bot: it predicts its avatar, shoots and launches.
type combat struct {
	*mind
	described  *client.Query[messages.Rules]
	rules      messages.Rules
	prediction *client.Prediction[schema.Body]
	before     client.PredictionStats
	at         schema.Body // predicted at the end of the last frame
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

func newCombat(m *mind) combat {
	return combat{mind: m, avatars: map[bulk.Handle]*sightings{}, shots: map[uint32]shot{}, launches: map[uint32][]missile{}}
}

// forgetSession forgets what belongs to a session, but not the client's prediction.
func (c *combat) forgetSession() {
	next := newCombat(c.mind)
	next.serial, next.prediction, next.rules, next.before = c.serial, c.prediction, c.rules, c.before
	*c = next
}

// steer checks the prediction, and returns the stick, or nil while the bot stands still: the
// prediction must know every input.
func (c *combat) steer(f *bot.Frame) any {
	if c.prediction == nil || c.prediction.Err() != nil || !c.hasPicture(f) {
		return nil
	}
	c.checkPrediction()
	c.moment = c.client.Render()
	if f.Fresh {
		c.stick = c.nextStick()
		c.checkMissiles()
	}
	return &c.stick
}

// act learns the rules, and then shoots and launches.
func (c *combat) act(f *bot.Frame) error {
	switch {
	case !c.hasPicture(f):
		return nil
	case c.prediction == nil:
		return c.learnRules()
	}
	if err := c.prediction.Err(); err != nil {
		return err
	}
	c.noteInput(f.InputTick, f.InputChanged)
	// The next frame compares this state with the server's.
	c.at, c.predicted = c.prediction.State()
	c.before = c.prediction.Stats()
	if c.countUnanswered() >= maxUnanswered {
		return nil
	}
	if err := c.shootIfDue(f.Now); err != nil {
		return err
	}
	return c.launchIfDue(f.Now)
}

// learnRules asks for the rules, and begins to predict by them.
func (c *combat) learnRules() error {
	if c.described == nil {
		q, err := client.Ask(c.client, messages.DescribeCommand, 0, messages.Describe{})
		if err != nil {
			return err
		}
		c.described = q
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

// checkPrediction measures the correction of the last Update. Only its stick moves an avatar,
// so there should be no correction once the server has applied the newest change of the stick
// (B14).
func (c *combat) checkPrediction() {
	now, was := c.prediction.Stats(), c.before
	agreed, corrected := now.Agreed-was.Agreed, now.Corrected-was.Corrected
	c.Count(predictionsAgreed, agreed)
	c.Count(corrections, corrected)
	c.Count(correctionsExplained, now.Missed-was.Missed)
	if agreed+corrected == 0 {
		return
	}
	off := 0.0
	if at, ok := c.prediction.State(); ok && c.predicted && now.Predicted == was.Predicted {
		off = distanceOf(at.Position, c.at.Position)
		c.Sample(predictionError, 1000*off)
	}
	c.compared, c.corrected = c.compared+agreed+corrected, c.corrected+corrected
	own := c.client.Controlled()
	switch {
	case corrected > 0 && c.steady && off > roundingMetres && !c.hearing.mayMissEvents():
		c.Count(correctionsUnexplained, corrected)
		c.Report(own, 0, "B14: its state at tick %d is %.0f mm off the predicted one, with a steady stick since tick %d", now.Confirmed, 1000*off, c.changed)
	case c.compared >= comparedStates:
		if c.corrected > c.compared/2 {
			c.Count(correctionsUnexplained, c.corrected)
			c.Report(own, 0, "B14: of %d states up to tick %d, %d were not as predicted", c.compared, now.Confirmed, c.corrected)
		}
		c.compared, c.corrected = 0, 0
	}
	r := c.client.Replica()
	c.steady = now.Confirmed == r.Tick() && max(c.changed, c.recalled) <= r.Stats().AppliedInput
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
	maker, _, _ := c.Recall(c.client.Controlled())
	if now.Before(c.nextLaunch) || maker == 0 {
		return nil
	}
	c.nextLaunch = c.pauseFrom(now, launchEvery)
	l := messages.Launch{
		Aim: float32(2 * math.Pi * c.Rand.Float64()), Serial: c.serial,
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
		{handle: l.Left, serial: 2 * l.Serial, life: l.LeftLife, maker: maker},
		{handle: l.Right, serial: 2*l.Serial + 1, life: l.RightLife, maker: maker},
	}
	return nil
}

// drawLife draws a missile's life in ticks. One missile in four is not made, and one dies
// before it can enter.
func (c *combat) drawLife() uint8 {
	switch c.Rand.IntN(4) {
	case 0:
		return 0
	case 1:
		return 1
	}
	return uint8(20 + c.Rand.IntN(200))
}

// takeResult handles the result of a shot, a launch or a request for the rules, and returns
// true for such a result.
func (c *combat) takeResult(r client.Result) bool {
	if s, ok := c.shots[r.ID]; ok {
		delete(c.shots, r.ID)
		if answer, ok := r.Answer.(messages.Shot); ok {
			c.checkShot(s, answer)
		} else if code := wire.CodeOf(r.Err); code != wire.RateLimited {
			c.Report(0, 0, "B13: a shot is refused with %v: %v", code, r.Err)
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

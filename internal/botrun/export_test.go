package botrun

import (
	"time"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/loadtest/bot"
)

// Bot is a bot that a test plays frame by frame.
type Bot = loadBot

func NewBot(number int, c Config) *Bot { return newBot(number, c.withDefaults()) }

// JoinBy joins as dialServer does, but with a client of another link.
func (b *loadBot) JoinBy(dial func(client.Config) (*client.Client, error)) error {
	if err := b.actor.newBehavior(); err != nil {
		return err
	}
	config, err := b.clientConfig()
	if err != nil {
		return err
	}
	config.Addr, config.Socket = "", nil
	c, err := dial(config)
	if err != nil {
		return err
	}
	b.beginVisit(c)
	return b.actor.beginVisit()
}

func (b *loadBot) PlayFrame(now time.Time) error { return b.playFrame(now) }

func (b *loadBot) Client() *client.Client { return b.client }

func (b *loadBot) Confusions() []bot.Confusion { return b.oracle.recorded }

func (b *loadBot) Probes() uint64 { return b.handles.Probes }

func (b *loadBot) Counted(name string) uint64 { return b.counts[name] }

func (b *loadBot) Rows() uint64 { return b.account.rowsReceived() }

// Visible returns the latencies of inputs in µs, and PressedAt when the input was set that the bot
// watches.
func (b *loadBot) Visible() []int64 { return b.actor.visible }

func (b *loadBot) PressedAt() (at time.Time, watching bool) {
	return b.actor.inputs.pressed, b.actor.inputs.pending
}

// HasLearnt reports whether an event or an answer of the game has named a handle.
func (b *loadBot) HasLearnt() bool { return !b.oracle.taught.IsEmpty() }

// InputWatch is an inputWatch of a bot whose pictures show the newest state.
type InputWatch struct {
	inputWatch
	hz float64
}

func NewInputWatch(hz float64) *InputWatch { return &InputWatch{hz: hz} }

func (w *InputWatch) view(tick, applied uint32, velocity [3]float32) view {
	return view{tick: tick, applied: applied, velocity: velocity, moment: float64(tick), hz: w.hz, exact: true}
}

// Press changes the course for a tick. The newest snapshot is of tick seen.
func (w *InputWatch) Press(now time.Time, tick, seen uint32, velocity [3]float32) {
	w.beginWatch(now, tick, w.view(seen, 0, velocity))
}

// See shows a snapshot.
func (w *InputWatch) See(now time.Time, tick, applied uint32, velocity [3]float32) (time.Duration, bool) {
	return w.observeView(now, w.view(tick, applied, velocity))
}

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

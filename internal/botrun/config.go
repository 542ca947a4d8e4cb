package botrun

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/loadtest/bot"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/server/token"
)

// Config selects the server to load, and how. A field's zero value selects its default.
type Config struct {
	// Addr is the server's address, HOST:PORT. Required.
	Addr string
	// Addrs are further addresses of the game, as in client.Config. Bots dial all in turn.
	Addrs []string
	// Fingerprint is the SHA-256 of the server's certificate in hexadecimal;
	// InsecureDev accepts any certificate, for development. With neither, this machine
	// must trust the certificate.
	Fingerprint string
	InsecureDev bool
	// Tables are the server's coding tables; nil selects the default ones.
	Tables *client.Tables
	// Issuer signs each bot's connect token for Audience, under the bot's user name. If nil,
	// bots send no tokens.
	Issuer   *token.Issuer
	Audience string
	// Bots is the number of bots. Default 50.
	Bots int
	// Duration is the length of the run from the first dial. Default 30 s.
	Duration time.Duration
	// Ramp is the time over which the first dials are evenly spread. Default: 10 ms per bot, at
	// most half of Duration. A handshake costs the server about a millisecond, so simultaneous
	// dials would measure nothing else.
	Ramp time.Duration
	// Player says how bots play. Default: they join and probe.
	Player *bot.Player
	// Scenario is the bots' behaviour. Default Roam.
	Scenario bot.Scenario
	// Link impairs the network between each bot and the server. The zero value does not change
	// it.
	Link Link
	// Seed determines the bots' random choices. Runs still differ, since the network differs.
	Seed uint64
	// Ordinary makes bots receive all motion from the server. By default they compute the
	// bodies of exact kinds themselves, and check them by the server's audits.
	Ordinary bool
	// PlainRows makes bots receive every row in full, as small clients do.
	PlainRows bool
	// Probes is the number of handles that a bot resolves after each snapshot. Default 8.
	Probes int
	// AreaMetres is how far bots roam from the centre, along x and z. Default 80.
	AreaMetres float64
	// Room is the room that bots join. {n} in it is replaced by the number of the bot, and
	// {n/20} by that number divided by 20, so that 20 bots share a room. Default: the server's
	// default room.
	Room string
	// Log receives broken sessions. Default: no log.
	Log *zap.Logger

	began time.Time // start of the run
}

// addrsOf returns the addresses of the game, in the order in which bot n tries them.
func (c Config) addrsOf(n int) []string {
	all := append([]string{c.Addr}, c.Addrs...)
	n %= len(all)
	return slices.Concat(all[n:], all[:n])
}

func (c Config) withDefaults() Config {
	c.Bots = cmp.Or(c.Bots, 50)
	c.Duration = cmp.Or(c.Duration, 30*time.Second)
	c.Scenario = cmp.Or(c.Scenario, bot.Roam)
	c.Ramp = cmp.Or(c.Ramp, min(time.Duration(c.Bots)*time.Second/dialsPerSecond, c.Duration/2))
	c.Probes = cmp.Or(c.Probes, usualProbes)
	c.AreaMetres = cmp.Or(c.AreaMetres, 80)
	if c.Player == nil {
		c.Player = &bot.Player{}
	}
	if c.Tables == nil {
		c.Tables = rowcodec.DefaultTables()
	}
	c.Log = cmp.Or(c.Log, zap.NewNop())
	return c
}

// Validate returns all errors of c.
func (c Config) Validate() error {
	c = c.withDefaults()
	var wrong faults
	wrong.addIf(c.Bots < 1, "%d bots, want at least 1", c.Bots)
	wrong.addIf(c.Duration < 0, "duration %v, want more than 0", c.Duration)
	wrong.addIf(c.Ramp < 0 || c.Ramp > 0 && c.Ramp >= c.Duration,
		"a ramp of %v in a run of %v: want a shorter ramp, or the last bots never join", c.Ramp, c.Duration)
	wrong.addIf(c.Scenario == bot.JoinStorm && c.Ramp < c.Duration && c.stormStart() >= c.Duration,
		"a join storm %v after the first dial, in a run of %v: want a longer run, or no bot joins then", c.stormStart(), c.Duration)
	wrong.addIf(c.Probes < 0 || c.Probes > mostProbes, "%d probes after each snapshot, want 1 to %d", c.Probes, mostProbes)
	wrong.addIf(c.AreaMetres < 0, "area of %v m: want more than 0", c.AreaMetres)
	wrong.addIf(c.Fingerprint != "" && c.InsecureDev, "both fingerprint and insecure-dev are set: want one of them")
	_, unknown := c.RoomOf(0)
	_, unissued := c.newTicket(nameOf(0))
	return errors.Join(append(wrong, validateScenario(c.Scenario, c.Player.Scenarios), validateMetrics(c.Player), c.Link.validate(), unissued, unknown,
		client.Config{Addr: c.Addr, Addrs: c.Addrs, Fingerprint: c.Fingerprint, Schema: schema.New(), Version: c.Player.Version}.Validate())...)
}

// faults collects the errors of a configuration.
type faults []error

func (f *faults) addIf(wrong bool, format string, args ...any) {
	if wrong {
		*f = append(*f, fmt.Errorf("bot: "+format, args...))
	}
}

// freshToken returns a function that makes further tokens for a bot, or nil without an Issuer.
func (c Config) freshToken(user string) func(context.Context) ([]byte, error) {
	if c.Issuer == nil {
		return nil
	}
	return func(context.Context) ([]byte, error) { return c.newTicket(user) }
}

// newTicket returns a connect token for a bot, or nil without an Issuer.
func (c Config) newTicket(user string) ([]byte, error) {
	if c.Issuer == nil {
		return nil, nil
	}
	text, err := c.Issuer.Issue(token.Claims{User: user}, c.Audience, time.Now(), dialTimeout)
	return []byte(text), err
}

var numberInRoom = regexp.MustCompile(`\{n(/[1-9][0-9]{0,5})?\}`)

// RoomOf returns the room of a bot.
func (c Config) RoomOf(number int) (string, error) {
	name := numberInRoom.ReplaceAllStringFunc(c.Room, func(text string) string {
		divisor := 1
		_, _ = fmt.Sscanf(text, "{n/%d}", &divisor) // or {n}
		return strconv.Itoa(number / divisor)
	})
	if strings.ContainsAny(name, "{}") {
		return "", fmt.Errorf("bot: room %q: want a name, with {n} or {n/20} for the number of the bot", c.Room)
	}
	return name, nil
}

package bot

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/token"
)

// Config says whom to load, and how. The zero value of a field means its
// default.
type Config struct {
	// Addr is the server, HOST:PORT. Required.
	Addr string
	// Fingerprint is the SHA-256 of the certificate that the server must show,
	// in hexadecimal, and InsecureDev takes any: for development. With neither,
	// the certificate must be one that this machine trusts.
	Fingerprint string
	InsecureDev bool
	// Tables are those that the server codes with; nil means the default ones.
	Tables *wire.Tables
	// Issuer makes each bot a connect token for Audience, as the user that it
	// calls itself; nil: bots bring none.
	Issuer   *token.Issuer
	Audience string
	// Bots is how many. Default 50.
	Bots int
	// Duration is how long, from the first dial. Default 30 s.
	Duration time.Duration
	// Ramp is over how long the first dials are spread, evenly. Default: 10 ms a
	// bot, since a handshake costs a server about a millisecond and a crowd that
	// comes at once measures nothing else, but half of Duration at most.
	Ramp time.Duration
	// Scenario is what the bots do. Default Roam.
	Scenario Scenario
	// Link is what lies between each bot and the server. The zero value is the
	// network as it is.
	Link Link
	// Seed is of all that bots do by chance. Two runs differ all the same, as
	// the network does.
	Seed uint64
	// AreaMetres is how far from the middle bots roam, along x and z. Default 80.
	AreaMetres float64
	// Log is told about sessions that break. Default: nothing is logged.
	Log *zap.Logger

	began time.Time // of the run
}

func (c Config) withDefaults() Config {
	if c.Bots == 0 {
		c.Bots = 50
	}
	if c.Duration == 0 {
		c.Duration = 30 * time.Second
	}
	if c.Scenario == "" {
		c.Scenario = Roam
	}
	if c.Ramp == 0 {
		c.Ramp = min(time.Duration(c.Bots)*time.Second/dialsPerSecond, c.Duration/2)
	}
	if c.AreaMetres == 0 {
		c.AreaMetres = 80
	}
	if c.Tables == nil {
		c.Tables = wire.DefaultTables()
	}
	if c.Log == nil {
		c.Log = zap.NewNop()
	}
	return c
}

// Validate reports everything that is wrong with c.
func (c Config) Validate() error {
	c = c.withDefaults()
	var errs []error
	if c.Bots < 1 {
		errs = append(errs, fmt.Errorf("bot: %d bots: want at least 1", c.Bots))
	}
	if c.Duration < 0 {
		errs = append(errs, fmt.Errorf("bot: duration %v: want more than 0", c.Duration))
	}
	if c.Ramp < 0 || c.Ramp > 0 && c.Ramp >= c.Duration {
		errs = append(errs, fmt.Errorf("bot: a ramp of %v in a run of %v: want less, or the last bots never join", c.Ramp, c.Duration))
	}
	if c.Scenario == JoinStorm && c.Ramp < c.Duration && c.storm() >= c.Duration {
		errs = append(errs, fmt.Errorf("bot: a join storm %v after the first dial, in a run of %v: want a longer run, or nobody comes", c.storm(), c.Duration))
	}
	errs = append(errs, c.Scenario.validate(), c.Link.validate())
	if c.AreaMetres < 0 {
		errs = append(errs, fmt.Errorf("bot: area of %v m: want more than 0", c.AreaMetres))
	}
	if c.Fingerprint != "" && c.InsecureDev {
		errs = append(errs, errors.New("bot: a fingerprint and insecure-dev: want one of them"))
	}
	errs = append(errs, client.Config{
		Addr: c.Addr, Fingerprint: c.Fingerprint, SessionConfig: client.SessionConfig{Schema: wire.NewSchema()},
	}.Validate())
	if _, err := c.ticket(nameOf(0)); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// freshToken is where a bot takes further tokens from, if it needs any.
func (c Config) freshToken(user string) func(context.Context) ([]byte, error) {
	if c.Issuer == nil {
		return nil
	}
	return func(context.Context) ([]byte, error) { return c.ticket(user) }
}

// ticket is a connect token for a bot, if it needs one.
func (c Config) ticket(user string) ([]byte, error) {
	if c.Issuer == nil {
		return nil, nil
	}
	text, err := c.Issuer.Issue(token.Claims{User: user}, c.Audience, time.Now(), dialTimeout)
	return []byte(text), err
}

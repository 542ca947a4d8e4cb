package bot

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/server/token"
)

// Config says which server to load, and how. A field's zero value selects its default.
type Config struct {
	// Addr is the server's address, HOST:PORT. Required.
	Addr string
	// Fingerprint is the SHA-256 of the server's certificate in hexadecimal;
	// InsecureDev accepts any certificate, for development. With neither, this machine
	// must trust the certificate.
	Fingerprint string
	InsecureDev bool
	// Tables are the server's coding tables; nil selects the default ones.
	Tables *client.Tables
	// Issuer signs each bot's connect token for Audience, under the bot's user name. If
	// it is nil, bots send no tokens.
	Issuer   *token.Issuer
	Audience string
	// Bots is the number of bots. Default 50.
	Bots int
	// Duration is the length of the run from the first dial. Default 30 s.
	Duration time.Duration
	// Ramp is the time over which first dials are evenly spread. Default: 10 ms per
	// bot, at most half of Duration. A handshake costs the server about a millisecond;
	// simultaneous ones would measure nothing else.
	Ramp time.Duration
	// Scenario is the bots' behaviour. Default Roam.
	Scenario Scenario
	// Link impairs the network between each bot and the server. The zero value leaves
	// it as it is.
	Link Link
	// Seed determines the bots' random choices. Runs still differ, as the network does.
	Seed uint64
	// AreaMetres is how far bots roam from the centre, along x and z. Default 80.
	AreaMetres float64
	// Log receives broken sessions. Default: no log.
	Log *zap.Logger

	began time.Time // start of the run
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
		c.Tables = client.DefaultTables()
	}
	if c.Log == nil {
		c.Log = zap.NewNop()
	}
	return c
}

// Validate returns all errors of c.
func (c Config) Validate() error {
	c = c.withDefaults()
	var errs []error
	if c.Bots < 1 {
		errs = append(errs, fmt.Errorf("bot: %d bots, want at least 1", c.Bots))
	}
	if c.Duration < 0 {
		errs = append(errs, fmt.Errorf("bot: duration %v, want more than 0", c.Duration))
	}
	if c.Ramp < 0 || c.Ramp > 0 && c.Ramp >= c.Duration {
		errs = append(errs, fmt.Errorf("bot: a ramp of %v in a run of %v: want a shorter ramp, or the last bots never join", c.Ramp, c.Duration))
	}
	if c.Scenario == JoinStorm && c.Ramp < c.Duration && c.storm() >= c.Duration {
		errs = append(errs, fmt.Errorf("bot: a join storm %v after the first dial, in a run of %v: want a longer run, or no bot joins then", c.storm(), c.Duration))
	}
	errs = append(errs, c.Scenario.validate(), c.Link.validate())
	if c.AreaMetres < 0 {
		errs = append(errs, fmt.Errorf("bot: area of %v m: want more than 0", c.AreaMetres))
	}
	if c.Fingerprint != "" && c.InsecureDev {
		errs = append(errs, errors.New("bot: both fingerprint and insecure-dev are set: want one of them"))
	}
	errs = append(errs, client.Config{
		Addr: c.Addr, Fingerprint: c.Fingerprint, Schema: schema.New(),
	}.Validate())
	if _, err := c.ticket(nameOf(0)); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// freshToken returns the source of a bot's further tokens, or nil without an Issuer.
func (c Config) freshToken(user string) func(context.Context) ([]byte, error) {
	if c.Issuer == nil {
		return nil
	}
	return func(context.Context) ([]byte, error) { return c.ticket(user) }
}

// ticket returns a connect token for a bot, or nil without an Issuer.
func (c Config) ticket(user string) ([]byte, error) {
	if c.Issuer == nil {
		return nil, nil
	}
	text, err := c.Issuer.Issue(token.Claims{User: user}, c.Audience, time.Now(), dialTimeout)
	return []byte(text), err
}

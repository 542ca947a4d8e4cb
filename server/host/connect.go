package host

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/regularfile"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
)

// dialTimeout bounds the wait for a server's Welcome.
const dialTimeout = 5 * time.Second

// connectFlags are the flags of commands that join a server.
type connectFlags struct {
	Fingerprint string `xor:"trust" placeholder:"HEX" help:"SHA-256 of the server's certificate, which it prints at start."`
	InsecureDev bool   `xor:"trust" help:"Trust any server: for development on one machine."`
	TokenFile   string `type:"path" placeholder:"FILE" help:"Connect token, as printed by ${name} token issue."`
	Room        string `placeholder:"NAME" help:"Room to join; the server's only one if not given."`
	Tables      string `type:"path" placeholder:"FILE" help:"The server's coding tables, as written by ${name} train."`

	ClientVersion string `default:"${clientVersion}" placeholder:"VERSION" help:"Version of the game to join with, for servers that refuse older clients (this program's)."`
}

// dialServer joins a server as a client that declares game. If game is nil the client reads the
// server's schema.
func (f *connectFlags) dialServer(ctx context.Context, p *program, addr, name string, game *schema.Schema, events *client.Events) (*client.Client, error) {
	c := client.Config{Addr: addr, Name: name, Schema: game, Version: f.ClientVersion, Events: events, Fingerprint: f.Fingerprint, InsecureDev: f.InsecureDev, Room: f.Room, Fallback: true}
	var err error
	if c.Tables, err = loadTables(f.Tables); err != nil {
		return nil, err
	}
	if f.TokenFile != "" {
		text, err := regularfile.Read(f.TokenFile, maxKeyBytes)
		if err != nil {
			return nil, usageError("cannot read the token: %w", err)
		}
		c.Token = bytes.TrimSpace(text)
	}
	if err := c.Validate(); err != nil {
		return nil, usageError("%w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	joined, err := client.Dial(ctx, c)
	if wire.CodeOf(err) == wire.ClientTooOld {
		return nil, fmt.Errorf("%w; --client-version joins with another version", err)
	}
	return joined, err
}

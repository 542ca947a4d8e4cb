package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/worldd/worldd/internal/regularfile"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/server/token"
)

// tokenCommand creates keys and tokens for servers with --token-keys.
type tokenCommand struct {
	New   tokenNewCommand   `cmd:"" help:"Create a key pair: FILE is the secret key that signs tokens; FILE.pub is for servers."`
	Issue tokenIssueCommand `cmd:"" help:"Print a token that lets a user join once."`
}

// tokenNewCommand creates a key pair.
type tokenNewCommand struct {
	File string `arg:"" type:"path" help:"File for the secret key; it must not exist."`
}

// run never overwrites a key: it would invalidate all of the old key's tokens.
func (c *tokenNewCommand) run(_ context.Context, p *program) error {
	secret, public := token.NewKeys()
	if err := writeNew(c.File, secret, 0o600); err != nil {
		return err
	}
	if err := writeNew(c.File+".pub", public, 0o644); err != nil {
		return errors.Join(err, os.Remove(c.File)) // without the public key, the secret key is useless
	}
	fmt.Fprintf(p.out, "secret key in %s: keep it where tokens are issued\npublic key in %s.pub: %s serve --token-keys %s.pub\n", c.File, c.File, p.Name, c.File)
	return nil
}

func writeNew(name, text string, mode os.FileMode) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return fmt.Errorf("cannot write the key: %w", err)
	}
	_, err = fmt.Fprintln(f, text)
	return errors.Join(err, f.Close())
}

// tokenIssueCommand issues a token.
type tokenIssueCommand struct {
	Key      string        `required:"" type:"path" env:"${variables}TOKEN_KEY" placeholder:"FILE" help:"The secret key."`
	User     string        `required:"" placeholder:"NAME" help:"The user's name."`
	Audience string        `default:"${name}" placeholder:"NAME" help:"The server's --audience (${default})."`
	Lifetime time.Duration `default:"60s" placeholder:"TIME" help:"How long the token can start a session (${default})."`
	Room     string        `placeholder:"ROOM" help:"The only room that the token opens, or KIND?KEY=VALUE for one that suits; any if not given."`
	Session  time.Duration `placeholder:"TIME" help:"How long the session may last from now; unlimited if not given."`
}

// Validate is called by kong.
func (c *tokenIssueCommand) Validate() error {
	if c.Session < 0 {
		return fmt.Errorf("--session is %v, want more than 0, or 0 for an unlimited session", c.Session)
	}
	return nil
}

func (c *tokenIssueCommand) newClaims(now time.Time) token.Claims {
	claims := token.Claims{User: c.User, Room: c.Room}
	if c.Session > 0 {
		claims.SessionEnd = now.Add(c.Session)
	}
	return claims
}

// run prints the token and nothing else.
func (c *tokenIssueCommand) run(_ context.Context, p *program) error {
	secret, err := p.readSecretKey(c.Key)
	if err != nil {
		return err
	}
	issuer, err := token.NewIssuer(secret)
	if err != nil {
		return usageError("%s: %w", c.Key, err)
	}
	now := time.Now()
	text, err := issuer.Issue(c.newClaims(now), c.Audience, now, c.Lifetime)
	if err != nil {
		return usageError("%w", err)
	}
	_, err = fmt.Fprintln(p.out, text)
	return err
}

// newVerifier returns the verifier of the command line's keys, or nil without keys.
func (c *serveCommand) newVerifier(program string) (*token.Verifier, error) {
	if len(c.TokenKeys) == 0 {
		return nil, nil
	}
	public, err := c.tokenKeys()
	if err != nil {
		return nil, usageError("%w", err)
	}
	v, err := token.NewVerifier(cmp.Or(c.Audience, program), public...)
	if err != nil {
		return nil, usageError("%s: %w", strings.Join(c.TokenKeys, ", "), err)
	}
	return v, nil
}

func (c *serveCommand) tokenKeys() (public []string, err error) {
	for _, name := range c.TokenKeys {
		text, err := regularfile.Read(name, maxKeyBytes)
		if err != nil {
			return nil, fmt.Errorf("cannot read a token key: %w", err)
		}
		public = append(public, string(text))
	}
	return public, nil
}

// admission returns server.Config.Admit for a verifier. If the disk cannot
// store a used token, the client is not at fault and may retry with the same token.
func admission(verifier *token.Verifier, log *zap.Logger) server.Admit {
	return func(_ context.Context, text []byte) (server.Admission, error) {
		now := time.Now()
		claims, err := verifier.Verify(text, now)
		if errors.Is(err, token.ErrUnrecorded) {
			log.Error("a client was refused", zap.Error(err))
			err = &wire.Error{Code: wire.Internal, Detail: token.ErrUnrecorded.Error()}
		}
		return server.Admission{User: claims.User, Room: claims.Room, Lasts: claims.Remaining(now)}, err
	}
}

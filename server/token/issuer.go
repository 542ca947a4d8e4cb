package token

import (
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"aidanwoods.dev/go-paseto"
)

const (
	// MaxBytes bounds a token in bytes. A Hello has space for it.
	MaxBytes = 2048
	// MaxUser bounds a user's name, in bytes.
	MaxUser = 128
	// MaxAudience bounds an audience, in bytes.
	MaxAudience = 128
	// MaxRoom bounds the name of a room, in bytes.
	MaxRoom = 256
	// MaxLifetime bounds the lifetime of a token. A Verifier must remember a used token for
	// that time.
	MaxLifetime = 24 * time.Hour
)

// NewKeys generates a pair of keys in hexadecimal: the secret key for the issuer, the
// public key for servers.
func NewKeys() (secret, public string) {
	key := paseto.NewV4AsymmetricSecretKey()
	return key.ExportHex(), key.Public().ExportHex()
}

// Issuer signs tokens. It is safe for concurrent use.
type Issuer struct{ key paseto.V4AsymmetricSecretKey }

// NewIssuer returns an Issuer with a secret key from NewKeys.
func NewIssuer(secret string) (*Issuer, error) {
	secret = strings.TrimSpace(secret)
	key, err := paseto.NewV4AsymmetricSecretKeyFromHex(secret)
	if _, public := paseto.NewV4AsymmetricPublicKeyFromHex(secret); err != nil && public == nil {
		return nil, errors.New("token: the key is a public key, which verifies tokens: want the secret key of the pair")
	}
	if err != nil {
		return nil, errors.New("token: invalid secret key: want the 128 hex digits of NewKeys")
	}
	return &Issuer{key}, nil
}

// Claims are the claims of a token about its user.
type Claims struct {
	User string
	// Room is the only room that the token opens: its name, or a query (wire.RoomQuery) for which the server
	// chooses one; empty: any.
	Room string
	// SessionEnd is when the session ends; zero means never. It is independent of the token's
	// expiry, which limits when the session can begin.
	SessionEnd time.Time
}

// Remaining returns how long the session may last from now, at least 1 ns. 0 means without end.
func (c Claims) Remaining(now time.Time) time.Duration {
	if c.SessionEnd.IsZero() {
		return 0
	}
	return max(c.SessionEnd.Sub(now), 1)
}

const (
	// sessionEnd is the name of the claim for Claims.SessionEnd, a time like exp.
	sessionEnd = "session_end"
	// room is the name of the claim for Claims.Room, a text.
	room = "room"
)

// Issue returns a token for one audience, valid from now for lifetime.
func (i *Issuer) Issue(c Claims, audience string, now time.Time, lifetime time.Duration) (string, error) {
	switch {
	case c.User == "" || len(c.User) > MaxUser:
		return "", fmt.Errorf("token: user of %d bytes: want 1 to %d", len(c.User), MaxUser)
	case audience == "" || len(audience) > MaxAudience:
		return "", fmt.Errorf("token: an audience of %d bytes: want 1 to %d", len(audience), MaxAudience)
	case len(c.Room) > MaxRoom || !utf8.ValidString(c.Room):
		return "", fmt.Errorf("token: room of %d bytes: want at most %d of UTF-8", len(c.Room), MaxRoom)
	case lifetime <= 0 || lifetime > MaxLifetime:
		return "", fmt.Errorf("token: lifetime of %v: want more than 0, at most %v", lifetime, MaxLifetime)
	case !c.SessionEnd.IsZero() && !now.Before(c.SessionEnd):
		return "", fmt.Errorf("token: the session ended %v ago: want a later end, or none", now.Sub(c.SessionEnd))
	}
	t := paseto.NewToken()
	t.SetSubject(c.User)
	t.SetAudience(audience)
	t.SetJti(rand.Text())
	t.SetIssuedAt(now)
	t.SetExpiration(now.Add(lifetime))
	if !c.SessionEnd.IsZero() {
		t.SetTime(sessionEnd, c.SessionEnd)
	}
	if c.Room != "" {
		t.SetString(room, c.Room)
	}
	return t.V4Sign(i.key, nil), nil
}

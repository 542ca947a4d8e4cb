package token

import (
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"aidanwoods.dev/go-paseto"
)

const (
	// MaxBytes is the longest token that a Hello carries.
	MaxBytes = 2048
	// MaxUser bounds a user's name, in bytes.
	MaxUser = 128
	// MaxAudience bounds an audience's, in bytes.
	MaxAudience = 128
	// MaxLifetime is the longest that a token may be good: a Verifier has to
	// remember it for that long.
	MaxLifetime = 24 * time.Hour
)

// NewKeys makes a pair of keys, in hexadecimal: the secret one for the issuer,
// the public one for servers.
func NewKeys() (secret, public string) {
	key := paseto.NewV4AsymmetricSecretKey()
	return key.ExportHex(), key.Public().ExportHex()
}

// Issuer signs tokens. It may be used by several goroutines.
type Issuer struct{ key paseto.V4AsymmetricSecretKey }

// NewIssuer takes a secret key, as NewKeys makes it.
func NewIssuer(secret string) (*Issuer, error) {
	secret = strings.TrimSpace(secret)
	key, err := paseto.NewV4AsymmetricSecretKeyFromHex(secret)
	if _, public := paseto.NewV4AsymmetricPublicKeyFromHex(secret); err != nil && public == nil {
		return nil, errors.New("token: this is a public key, which servers check tokens with: want the secret one of the pair")
	}
	if err != nil {
		return nil, errors.New("token: the secret key is not the 128 hex digits that NewKeys makes")
	}
	return &Issuer{key}, nil
}

// Claims is what a token says.
type Claims struct {
	User string
	// SessionEnd is when the session that the token admits to ends; zero: never. It is
	// another time than the token's expiry, from which on no session begins with it.
	SessionEnd time.Time
}

// Remaining is how long the session may still last, more than 0; 0 is without end.
func (c Claims) Remaining(now time.Time) time.Duration {
	if c.SessionEnd.IsZero() {
		return 0
	}
	return max(c.SessionEnd.Sub(now), 1)
}

// sessionEnd is the claim of Claims.SessionEnd, a time as in exp.
const sessionEnd = "session_end"

// Issue makes a token for one audience, good for the given lifetime from now on.
func (i *Issuer) Issue(c Claims, audience string, now time.Time, lifetime time.Duration) (string, error) {
	switch {
	case c.User == "" || len(c.User) > MaxUser:
		return "", fmt.Errorf("token: a user of %d bytes: want 1 to %d", len(c.User), MaxUser)
	case audience == "" || len(audience) > MaxAudience:
		return "", fmt.Errorf("token: an audience of %d bytes: want 1 to %d", len(audience), MaxAudience)
	case lifetime <= 0 || lifetime > MaxLifetime:
		return "", fmt.Errorf("token: a lifetime of %v: want more than 0, at most %v", lifetime, MaxLifetime)
	case !c.SessionEnd.IsZero() && !now.Before(c.SessionEnd):
		return "", fmt.Errorf("token: the session ends %v ago: want a later end, or none", now.Sub(c.SessionEnd))
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
	return t.V4Sign(i.key, nil), nil
}

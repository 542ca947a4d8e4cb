package token

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"aidanwoods.dev/go-paseto"
)

const (
	// MaxRemembered bounds the used, unexpired tokens that a Verifier remembers, about 150
	// bytes each. Only a holder of the secret key can exceed it.
	MaxRemembered = 1 << 16
	// leeway bounds how far the backend's clock may be ahead of the server's.
	leeway = 5 * time.Second
)

// Reasons to reject a token. The fault is the client's or its backend's, except for ErrBusy and
// ErrUnrecorded.
var (
	ErrNone    = errors.New("token: missing")
	ErrForged  = errors.New("token: not signed by a key of this server")
	ErrClaims  = errors.New("token: for another server, without a user, or valid for too long")
	ErrExpired = errors.New("token: expired or not yet valid")
	ErrUsed    = errors.New("token: already used")
	ErrBusy    = errors.New("token: too many unexpired tokens are in use")
	// ErrUnrecorded is the server's fault: it cannot write the token to disk.
	ErrUnrecorded = errors.New("token: cannot be recorded as used")
)

// Verifier verifies tokens. It is safe for concurrent use.
type Verifier struct {
	audience string
	keys     atomic.Pointer[[]paseto.V4AsymmetricPublicKey]

	mu    sync.Mutex
	taken map[tokenID]time.Time // used tokens, and when each can be forgotten
	sweep time.Time             // when to forget expired tokens next
	file  *spentFile            // nil without KeepSpent
}

// NewVerifier returns a Verifier for tokens with the given audience, signed by one of the
// public keys, in hexadecimal.
func NewVerifier(audience string, public ...string) (*Verifier, error) {
	if audience == "" || len(audience) > MaxAudience {
		return nil, fmt.Errorf("token: an audience of %d bytes: want 1 to %d", len(audience), MaxAudience)
	}
	v := &Verifier{audience: audience, taken: map[tokenID]time.Time{}}
	if err := v.SetKeys(public...); err != nil {
		return nil, err
	}
	return v, nil
}

// SetKeys replaces the public keys. Used tokens stay used. An error changes nothing.
func (v *Verifier) SetKeys(public ...string) error {
	if len(public) == 0 {
		return errors.New("token: want at least one public key")
	}
	var keys []paseto.V4AsymmetricPublicKey
	for i, text := range public {
		text = strings.TrimSpace(text)
		if _, err := paseto.NewV4AsymmetricSecretKeyFromHex(text); err == nil {
			return fmt.Errorf("token: key %d is a secret key, which only the issuer may have: want the public key of the pair", i+1)
		}
		key, err := paseto.NewV4AsymmetricPublicKeyFromHex(text)
		if err != nil {
			return fmt.Errorf("token: invalid public key %d: want the 64 hex digits of NewKeys", i+1)
		}
		keys = append(keys, key)
	}
	v.keys.Store(&keys)
	return nil
}

// KeepSpent keeps used tokens in the file at path, so that a restarted server with the same
// file does not accept them again (K3). Call it before the first Verify, with now as for
// Verify. Verify then returns only after the token is on disk, where it survives a crash or
// power loss. The file holds at most twice the tokens that the Verifier remembers; expiries are
// wall-clock times. The error says that the file is damaged, not regular, or locked by another
// server (path.lock). Close unlocks it.
func (v *Verifier) KeepSpent(path string, now time.Time) error {
	file, all, err := openSpent(path)
	if err != nil {
		return err
	}
	for _, s := range all {
		if now.Before(s.until) {
			v.taken[s.id] = now.Add(s.until.Sub(now))
		}
	}
	file.live = v.remembered
	if err := file.rewrite(); err != nil { // drops expired tokens, and checks that the file can be written
		return errors.Join(fmt.Errorf("token: cannot write the file of used tokens: %w", err), file.close())
	}
	v.file = file
	return nil
}

// Close closes KeepSpent's file. Verify must not be running or called later.
func (v *Verifier) Close() error {
	if v.file == nil {
		return nil
	}
	return v.file.close()
}

// remembered returns the tokens that must not be accepted again.
func (v *Verifier) remembered() []spent {
	v.mu.Lock()
	defer v.mu.Unlock()
	all := make([]spent, 0, len(v.taken))
	for id, until := range v.taken {
		all = append(all, spent{id, until})
	}
	return all
}

// Verify accepts a token once and returns its claims. now is time.Now(): its wall clock
// determines validity, and its monotonic clock how long a used token is remembered, so that
// setting the clock does not forget it early. Verify checks a signature, which takes about 100
// µs per key.
func (v *Verifier) Verify(token []byte, now time.Time) (Claims, error) {
	signed, err := v.verifySignature(token)
	if err != nil {
		return Claims{}, err
	}
	id, claims, expires, err := v.checkClaims(signed, now)
	if err != nil {
		return Claims{}, err
	}
	if err := v.take(id, expires, now); err != nil {
		return Claims{}, err
	}
	return claims, nil
}

// verifySignature parses a token and checks its signature (K1).
func (v *Verifier) verifySignature(token []byte) (*paseto.Token, error) {
	if len(token) == 0 {
		return nil, ErrNone
	}
	if len(token) > MaxBytes || token[len(token)-1] == '.' { // an empty footer would be another text for the same token
		return nil, ErrForged
	}
	parser := paseto.NewParserWithoutExpiryCheck() // checked below, at the caller's time
	for _, key := range *v.keys.Load() {
		if t, err := parser.ParseV4Public(key, string(token), nil); err == nil {
			return t, nil
		}
	}
	return nil, ErrForged
}

// checkClaims checks and returns the claims of a signed token (K2).
func (v *Verifier) checkClaims(t *paseto.Token, now time.Time) (id string, c Claims, expires time.Time, err error) {
	audience, e1 := t.GetAudience()
	user, e2 := t.GetSubject()
	id, e3 := t.GetJti()
	issued, e4 := t.GetIssuedAt()
	expires, e5 := t.GetExpiration()
	var e6 error
	if _, ends := t.Claims()[sessionEnd]; ends {
		c.SessionEnd, e6 = t.GetTime(sessionEnd)
	}
	var e7 error
	if _, bound := t.Claims()[room]; bound {
		c.Room, e7 = t.GetString(room)
		if c.Room == "" || len(c.Room) > MaxRoom {
			e7 = ErrClaims // an empty room would open every room
		}
	}
	c.User = user
	switch {
	case errors.Join(e1, e2, e3, e4, e5, e6, e7) != nil, audience != v.audience, id == "", len(id) > MaxUser,
		user == "", len(user) > MaxUser, expires.Sub(issued) > MaxLifetime:
		return "", Claims{}, time.Time{}, ErrClaims
	case now.Before(issued.Add(-leeway)), !now.Before(expires), !c.SessionEnd.IsZero() && !now.Before(c.SessionEnd):
		return "", Claims{}, time.Time{}, ErrExpired
	}
	return id, c, expires, nil
}

// take records a token as used, so that it is accepted once (K3).
func (v *Verifier) take(jti string, expires, now time.Time) error {
	id := hashJTI(jti)
	until := now.Add(expires.Sub(now)) // keeps now's monotonic clock
	if err := v.remember(id, until, now); err != nil || v.file == nil {
		return err
	}
	if err := v.file.record(spent{id, until}); err != nil {
		v.mu.Lock()
		defer v.mu.Unlock()
		delete(v.taken, id) // not used after all
		return fmt.Errorf("%w: %w", ErrUnrecorded, err)
	}
	return nil
}

// remember adds a token to taken until until, and forgets expired tokens when due.
func (v *Verifier) remember(id tokenID, until, now time.Time) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.taken) >= MaxRemembered || !now.Before(v.sweep) {
		for old, until := range v.taken {
			if !now.Before(until) {
				delete(v.taken, old)
			}
		}
		v.sweep = now.Add(time.Minute)
	}
	switch _, used := v.taken[id]; {
	case used:
		return ErrUsed
	case len(v.taken) >= MaxRemembered:
		return ErrBusy
	}
	v.taken[id] = until
	return nil
}

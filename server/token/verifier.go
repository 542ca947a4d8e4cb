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
	// MaxRemembered bounds the tokens that a Verifier has taken and that are
	// still good, at about 150 bytes each. Only who holds the secret key can
	// fill it.
	MaxRemembered = 1 << 16
	// leeway is how far the clock of the backend may be ahead of the server's.
	leeway = 5 * time.Second
)

// Why a token is not taken. All of them say whose fault it is: all but
// the last two the client's or its backend's.
var (
	ErrNone    = errors.New("token: none was shown")
	ErrForged  = errors.New("token: not signed by a key of this server's")
	ErrClaims  = errors.New("token: signed, but made for another server, without a user, or good for too long")
	ErrExpired = errors.New("token: not good at this time")
	ErrUsed    = errors.New("token: taken before")
	ErrBusy    = errors.New("token: too many good tokens are in use")
	// ErrUnrecorded is the server's fault: its disk does not take the token.
	ErrUnrecorded = errors.New("token: it cannot be recorded as used")
)

// Verifier takes tokens. It may be used by several goroutines.
type Verifier struct {
	audience string
	keys     atomic.Pointer[[]paseto.V4AsymmetricPublicKey]

	mu    sync.Mutex
	taken map[tokenID]time.Time // when each can be forgotten
	sweep time.Time             // when expired ones are forgotten next
	file  *spentFile            // nil: they are forgotten with the Verifier
}

// NewVerifier takes the name of this server, and the public keys of those who
// may issue tokens for it, in hexadecimal.
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

// SetKeys replaces the public keys for the tokens of new sessions. Tokens that were
// taken stay taken. An error changes nothing.
func (v *Verifier) SetKeys(public ...string) error {
	if len(public) == 0 {
		return errors.New("token: no public key: nobody could join")
	}
	var keys []paseto.V4AsymmetricPublicKey
	for i, text := range public {
		text = strings.TrimSpace(text)
		if _, err := paseto.NewV4AsymmetricSecretKeyFromHex(text); err == nil {
			return fmt.Errorf("token: key %d is a secret one, which belongs to who issues tokens alone: want the public one of the pair", i+1)
		}
		key, err := paseto.NewV4AsymmetricPublicKeyFromHex(text)
		if err != nil {
			return fmt.Errorf("token: public key %d is not the 64 hex digits that NewKeys makes", i+1)
		}
		keys = append(keys, key)
	}
	v.keys.Store(&keys)
	return nil
}

// KeepSpent keeps used tokens in a file, so that a server which is started again, with
// the same file, does not take them a second time (K3). It comes before the first Verify,
// and now is as Verify's. From then on Verify returns when the token is on the disk: a
// crash or a loss of power after that changes nothing. The file holds what the Verifier
// remembers, and at most twice as much; expiries are read by the wall clock. An error
// names the file: it is damaged, not a regular file, or another server's, which
// path.lock tells. Close gives it back.
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
	if err := file.rewrite(); err != nil { // without the expired, and on a disk that can be written
		return errors.Join(fmt.Errorf("token: the file of used tokens cannot be written: %w", err), file.close())
	}
	v.file = file
	return nil
}

// Close ends the use of KeepSpent's file. No Verify may run or follow.
func (v *Verifier) Close() error {
	if v.file == nil {
		return nil
	}
	return v.file.close()
}

// remembered returns the tokens that must not be taken again.
func (v *Verifier) remembered() []spent {
	v.mu.Lock()
	defer v.mu.Unlock()
	all := make([]spent, 0, len(v.taken))
	for id, until := range v.taken {
		all = append(all, spent{id, until})
	}
	return all
}

// Verify takes a token and returns its claims. now is time.Now, whose wall clock says
// whether the token is good; if somebody sets that clock, a token that was taken is
// remembered for as long as it was good when it was taken. It costs a signature's check, about
// 100 µs a key.
func (v *Verifier) Verify(token []byte, now time.Time) (Claims, error) {
	signed, err := v.signed(token)
	if err != nil {
		return Claims{}, err
	}
	id, claims, expires, err := v.claims(signed, now)
	if err != nil {
		return Claims{}, err
	}
	if err := v.take(id, expires, now); err != nil {
		return Claims{}, err
	}
	return claims, nil
}

// signed checks the signature (K1).
func (v *Verifier) signed(token []byte) (*paseto.Token, error) {
	if len(token) == 0 {
		return nil, ErrNone
	}
	if len(token) > MaxBytes || token[len(token)-1] == '.' { // an empty footer is no other token, but another text
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

// claims checks what a signed token says (K2).
func (v *Verifier) claims(t *paseto.Token, now time.Time) (id string, c Claims, expires time.Time, err error) {
	audience, e1 := t.GetAudience()
	user, e2 := t.GetSubject()
	id, e3 := t.GetJti()
	issued, e4 := t.GetIssuedAt()
	expires, e5 := t.GetExpiration()
	var e6 error
	if _, ends := t.Claims()[sessionEnd]; ends {
		c.SessionEnd, e6 = t.GetTime(sessionEnd)
	}
	c.User = user
	switch {
	case errors.Join(e1, e2, e3, e4, e5, e6) != nil, audience != v.audience, id == "", len(id) > MaxUser,
		user == "", len(user) > MaxUser, expires.Sub(issued) > MaxLifetime:
		return "", Claims{}, time.Time{}, ErrClaims
	case now.Before(issued.Add(-leeway)), !now.Before(expires), !c.SessionEnd.IsZero() && !now.Before(c.SessionEnd):
		return "", Claims{}, time.Time{}, ErrExpired
	}
	return id, c, expires, nil
}

// take remembers a token, so that it is good once (K3).
func (v *Verifier) take(jti string, expires, now time.Time) error {
	id := idOf(jti)
	until := now.Add(expires.Sub(now)) // by the clock that nobody sets, as now is
	if err := v.remember(id, until, now); err != nil || v.file == nil {
		return err
	}
	if err := v.file.record(spent{id, until}); err != nil {
		v.mu.Lock()
		defer v.mu.Unlock()
		delete(v.taken, id) // it was not used
		return fmt.Errorf("%w: %w", ErrUnrecorded, err)
	}
	return nil
}

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

package token

import (
	"bytes"
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"aidanwoods.dev/go-paseto"
	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/mutate"
)

var mutantsFlag = flag.Int("mutants", 2_000, "how many mutants TestMutants makes")

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

const home = "eu-1"

func pair() (*Issuer, *Verifier) {
	secret, public := NewKeys()
	issuer := must.Get(NewIssuer(secret + "\n"))
	verifier := must.Get(NewVerifier(home, public+"\n"))
	return issuer, verifier
}

func issue(t testing.TB, i *Issuer, user string) []byte {
	text := must.Get(i.Issue(Claims{User: user}, home, noon, time.Minute))
	require.LessOrEqual(t, len(text), MaxBytes)
	return []byte(text)
}

func TestTakenOnce(t *testing.T) {
	issuer, verifier := pair()
	text := issue(t, issuer, "alice")
	claims := must.Get(verifier.Verify(text, noon.Add(30*time.Second)))
	require.Equal(t, Claims{User: "alice"}, claims)
	require.Zero(t, claims.Remaining(noon), "its session has no end")
	require.ErrorIs(t, must.Fail(verifier.Verify(text, noon.Add(31*time.Second))), ErrUsed)
	_, err := verifier.Verify(issue(t, issuer, "alice"), noon)
	require.NoError(t, err, "another token of the same user")
}

// K2: a token is valid from its issue until before its expiry.
func TestTimes(t *testing.T) {
	issuer, verifier := pair()
	for late, want := range map[time.Duration]error{
		-leeway: nil, -leeway - time.Second: ErrExpired, 0: nil,
		time.Minute - time.Nanosecond: nil, time.Minute: ErrExpired, time.Hour: ErrExpired,
	} {
		_, err := verifier.Verify(issue(t, issuer, "bob"), noon.Add(late))
		require.ErrorIs(t, err, want, "%v", late)
	}
}

// The end of the session is independent of the token's expiry.
func TestSessionEnd(t *testing.T) {
	issuer, verifier := pair()
	end := noon.Add(2 * time.Hour)
	text := func() []byte {
		text := must.Get(issuer.Issue(Claims{User: "bob", SessionEnd: end}, home, noon, MaxLifetime))
		return []byte(text)
	}
	claims := must.Get(verifier.Verify(text(), noon.Add(time.Hour)))
	require.Equal(t, "bob", claims.User)
	require.True(t, end.Equal(claims.SessionEnd))
	require.Equal(t, time.Hour, claims.Remaining(noon.Add(time.Hour)))
	require.Positive(t, claims.Remaining(noon.Add(3*time.Hour)), "0 would be without end")
	require.ErrorIs(t, must.Fail(verifier.Verify(text(), end)), ErrExpired, "the session would end at once")
	require.ErrorContains(t, must.Fail(issuer.Issue(Claims{User: "bob", SessionEnd: noon}, home, noon, time.Minute)), "want a later end")
}

// A token may name the only room that it opens.
func TestRoom(t *testing.T) {
	issuer, verifier := pair()
	text := must.Get(issuer.Issue(Claims{User: "bob", Room: "match/17"}, home, noon, time.Minute))
	require.Equal(t, Claims{User: "bob", Room: "match/17"}, must.Get(verifier.Verify([]byte(text), noon)))
	for _, bad := range []string{strings.Repeat("r", MaxRoom+1), "match/\xff"} {
		require.ErrorContains(t, must.Fail(issuer.Issue(Claims{User: "bob", Room: bad}, home, noon, time.Minute)), "room of ")
	}
}

// K1: a change of any byte, or another key, invalidates a token.
func TestForged(t *testing.T) {
	issuer, verifier := pair()
	stranger, _ := pair()
	text := issue(t, issuer, "carol")
	for i := range text {
		for _, flip := range []byte{1, 0x20, 0x80} {
			bad := append([]byte(nil), text...)
			bad[i] ^= flip
			require.ErrorIs(t, must.Fail(verifier.Verify(bad, noon)), ErrForged, "byte %d", i)
		}
		_, err := verifier.Verify(text[:i], noon)
		want := ErrForged
		if i == 0 {
			want = ErrNone
		}
		require.ErrorIs(t, err, want, "cut at %d", i)
	}
	for _, bad := range [][]byte{issue(t, stranger, "carol"), []byte(strings.Repeat("x", MaxBytes+1)), []byte("v4.public." + strings.Repeat("A", 2000))} {
		require.ErrorIs(t, must.Fail(verifier.Verify(bad, noon)), ErrForged)
	}
	_, err := verifier.Verify(text, noon)
	require.NoError(t, err, "rejected attempts do not use the token")
}

// A token has one text: another text that decodes to the same bytes is rejected.
func TestTokenTextIsUnique(t *testing.T) {
	issuer, verifier := pair()
	for _, user := range []string{"u", "uu", "uuu"} { // with and without unused bits in the last character
		text := issue(t, issuer, user)
		require.ErrorIs(t, must.Fail(verifier.Verify(append(text[:len(text):len(text)], '.'), noon)), ErrForged, "an empty footer")
		for _, last := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_=") {
			if other := append(text[:len(text)-1:len(text)-1], last); last != text[len(text)-1] {
				require.ErrorIs(t, must.Fail(verifier.Verify(other, noon)), ErrForged, "%s ends in %c", text, last)
			}
		}
	}
}

// A signed token with missing or wrong claims is rejected.
func TestClaims(t *testing.T) {
	issuer, verifier := pair()
	for name, spoil := range map[string]func(*paseto.Token){
		"another audience": func(k *paseto.Token) { k.SetAudience("us-1") },
		"no user":          func(k *paseto.Token) { k.SetSubject("") },
		"a long user":      func(k *paseto.Token) { k.SetSubject(strings.Repeat("u", MaxUser+1)) },
		"no identifier":    func(k *paseto.Token) { k.SetJti("") },
		"no time":          func(k *paseto.Token) { require.NoError(t, k.Set(sessionEnd, "noon")) },
		"an empty room":    func(k *paseto.Token) { k.SetString(room, "") },
		"a long room":      func(k *paseto.Token) { k.SetString(room, strings.Repeat("r", MaxRoom+1)) },
		"no text":          func(k *paseto.Token) { require.NoError(t, k.Set(room, 7)) },
		"good for ever":    func(k *paseto.Token) { k.SetExpiration(noon.Add(MaxLifetime + time.Second)) },
	} {
		k := paseto.NewToken()
		k.SetAudience(home)
		k.SetSubject("dave")
		k.SetJti("1")
		k.SetIssuedAt(noon)
		k.SetExpiration(noon.Add(time.Minute))
		spoil(&k)
		require.ErrorIs(t, must.Fail(verifier.Verify([]byte(k.V4Sign(issuer.key, nil)), noon)), ErrClaims, name)
	}
	empty := paseto.NewToken()
	require.ErrorIs(t, must.Fail(verifier.Verify([]byte(empty.V4Sign(issuer.key, nil)), noon)), ErrClaims)
}

// Two keys are valid during a key rotation.
func TestRotation(t *testing.T) {
	oldSecret, oldPublic := NewKeys()
	newSecret, newPublic := NewKeys()
	verifier := must.Get(NewVerifier(home, oldPublic, newPublic))
	for _, secret := range []string{oldSecret, newSecret} {
		issuer := must.Get(NewIssuer(secret))
		must.Get(verifier.Verify(issue(t, issuer, "erin"), noon))
	}
}

// Keys are replaced while a Verifier is in use, and K3 holds.
func TestSetKeys(t *testing.T) {
	oldSecret, oldPublic := NewKeys()
	newSecret, newPublic := NewKeys()
	verifier := must.Get(NewVerifier(home, oldPublic))
	before := must.Get(NewIssuer(oldSecret))
	after := must.Get(NewIssuer(newSecret))
	taken := issue(t, before, "erin")
	must.Get(verifier.Verify(taken, noon))

	for _, bad := range [][]string{nil, {"zz"}, {newPublic, newSecret}} {
		require.Error(t, verifier.SetKeys(bad...))
		_, err := verifier.Verify(issue(t, before, "erin"), noon)
		require.NoError(t, err, "the old keys stay")
		require.ErrorIs(t, must.Fail(verifier.Verify(issue(t, after, "erin"), noon)), ErrForged)
	}
	require.NoError(t, verifier.SetKeys(oldPublic, newPublic))
	require.ErrorIs(t, must.Fail(verifier.Verify(taken, noon)), ErrUsed)
	must.Get(verifier.Verify(issue(t, after, "erin"), noon))
	require.NoError(t, verifier.SetKeys(newPublic))
	require.ErrorIs(t, must.Fail(verifier.Verify(issue(t, before, "erin"), noon)), ErrForged)
}

// K3: memory is bounded.
func TestMemoryIsBounded(t *testing.T) {
	_, verifier := pair()
	for i := range MaxRemembered {
		require.NoError(t, verifier.take(fmt.Sprint(i), noon.Add(time.Minute), noon))
	}
	require.ErrorIs(t, verifier.take("one more", noon.Add(time.Minute), noon), ErrBusy)
	require.ErrorIs(t, verifier.take("17", noon.Add(time.Minute), noon), ErrUsed, "full or not")
	require.NoError(t, verifier.take("later", noon.Add(2*time.Minute), noon.Add(time.Minute)))
	require.Len(t, verifier.taken, 1)
}

func TestRefusedArguments(t *testing.T) {
	issuer, _ := pair()
	for name, f := range map[string]func() error{
		"no user":           func() error { _, err := issuer.Issue(Claims{}, home, noon, time.Minute); return err },
		"no audience":       func() error { _, err := issuer.Issue(Claims{User: "u"}, "", noon, time.Minute); return err },
		"no time":           func() error { _, err := issuer.Issue(Claims{User: "u"}, home, noon, 0); return err },
		"too much time":     func() error { _, err := issuer.Issue(Claims{User: "u"}, home, noon, MaxLifetime+1); return err },
		"no secret":         func() error { _, err := NewIssuer("00"); return err },
		"no public keys":    func() error { _, err := NewVerifier(home); return err },
		"a bad public key":  func() error { _, err := NewVerifier(home, "zz"); return err },
		"nobody's verifier": func() error { _, err := NewVerifier("", "00"); return err },
	} {
		require.ErrorContains(t, f(), "token: ", name)
	}
}

// The two keys of a pair are easily confused: the errors name the wrong one.
func TestTheOtherKeyOfThePair(t *testing.T) {
	secret, public := NewKeys()
	_, err := NewVerifier(home, public, secret+"\n")
	require.EqualError(t, err, "token: key 2 is a secret key, which only the issuer may have: want the public key of the pair")
	_, err = NewIssuer(public + "\n")
	require.EqualError(t, err, "token: the key is a public key, which verifies tokens: want the secret key of the pair")
	require.ErrorContains(t, must.Fail(NewIssuer("00")), "128 hex digits")
	require.ErrorContains(t, must.Fail(NewVerifier(home, "00")), "64 hex digits")
}

func FuzzVerify(f *testing.F) {
	issuer, _ := pair()
	_, verifier := pair()
	f.Add(issue(f, issuer, "u"))
	f.Fuzz(func(t *testing.T, text []byte) {
		_, err := verifier.Verify(text, noon)
		want := ErrForged
		if len(text) == 0 {
			want = ErrNone
		}
		require.ErrorIs(t, err, want)
	})
}

// Mutants of a valid token are rejected.
func TestMutants(t *testing.T) {
	issuer, verifier := pair()
	good, other := issue(t, issuer, "u"), issue(t, issuer, "another")
	s := mutate.NewSource(1, good, other)
	for i := range mutate.Count(*mutantsFlag) {
		text := s.Next()
		if bytes.Equal(text, good) || bytes.Equal(text, other) {
			continue
		}
		_, err := verifier.Verify(text, noon)
		want := ErrForged
		if len(text) == 0 {
			want = ErrNone
		}
		require.ErrorIs(t, err, want, "mutant %d: %q", i, text)
	}
}

package token

import (
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
)

// jumped returns t as read from a wall clock that was set ahead by d, in whole seconds, with an
// unchanged monotonic clock. It relies on the layout of time.Time: the wall clock's seconds
// begin at bit 30 of the first word.
func jumped(t time.Time, d time.Duration) time.Time {
	*(*uint64)(unsafe.Pointer(&t)) += uint64(d/time.Second) << 30
	return t
}

// A verifier remembers a used token even if the wall clock is set ahead for a while: the token
// is valid again after the correction.
func TestClockIsSet(t *testing.T) {
	issuer, verifier := pair()
	now := time.Now()
	ahead := jumped(now, time.Hour)
	require.Equal(t, time.Hour, ahead.Round(0).Sub(now.Round(0)))
	require.Zero(t, ahead.Sub(now))

	text := must.Get(issuer.Issue(Claims{User: "frank"}, home, now, time.Minute))
	must.Get(verifier.Verify([]byte(text), now))
	require.ErrorIs(t, must.Fail(verifier.Verify([]byte(text), ahead)), ErrExpired)
	other := must.Get(issuer.Issue(Claims{User: "grace"}, home, ahead, time.Minute))
	verifier.sweep = now // as a minute later
	must.Get(verifier.Verify([]byte(other), ahead))
	require.ErrorIs(t, must.Fail(verifier.Verify([]byte(text), now)), ErrUsed)
}

package quicserve

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// At any time for a year, the certificate in use is one that a page learned up to five days
// before, and browsers accept it: ECDSA, valid, and for at most 14 days.
func TestWebCertificatesRotate(t *testing.T) {
	var c webCertificates
	start := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	published := map[time.Time][2]string{}
	changes, last := 0, ""
	for now := start; now.Before(start.AddDate(1, 0, 0)); now = now.Add(time.Hour) {
		current, next, err := c.certificatesAt(now)
		require.NoError(t, err)
		published[now] = [2]string{fingerprintOf(*current), fingerprintOf(*next)}
		if used := fingerprintOf(*current); used != last {
			last = used
			changes++
		}
		for age := time.Duration(0); age <= 5*24*time.Hour; age += time.Hour {
			if known, ok := published[now.Add(-age)]; ok {
				require.Contains(t, known, fingerprintOf(*current), "at %v, published %v before", now, age)
			}
		}
		require.False(t, now.Before(current.Leaf.NotBefore))
		require.True(t, now.Before(current.Leaf.NotAfter))
		require.LessOrEqual(t, current.Leaf.NotAfter.Sub(current.Leaf.NotBefore), 14*24*time.Hour)
		require.Equal(t, elliptic.P256(), current.Leaf.PublicKey.(*ecdsa.PublicKey).Curve)
	}
	require.InDelta(t, 61, changes, 1, "about every six days")
}

// After a sleep, or if the clock is set, both certificates are made again.
func TestWebCertificatesAfterAJump(t *testing.T) {
	var c webCertificates
	start := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	before, _, err := c.certificatesAt(start)
	require.NoError(t, err)
	for _, jump := range []time.Duration{40 * 24 * time.Hour, -2 * time.Hour} {
		now := start.Add(jump)
		current, next, err := c.certificatesAt(now)
		require.NoError(t, err)
		require.NotEqual(t, fingerprintOf(*before), fingerprintOf(*current))
		require.True(t, now.After(current.Leaf.NotBefore) && now.Before(current.Leaf.NotAfter))
		require.True(t, next.Leaf.NotAfter.After(current.Leaf.NotAfter.Add(webMargin)), "the next one lasts longer")
		c = webCertificates{}
		before, _, err = c.certificatesAt(start)
		require.NoError(t, err)
	}
}

func TestWebOrigins(t *testing.T) {
	for _, c := range []struct {
		origins []string
		origin  string
		allowed bool
	}{
		{nil, "", true},
		{nil, "http://localhost:8080", true},
		{nil, "https://127.0.0.2", true},
		{nil, "http://[::1]:80", true},
		{nil, "https://example.com", false},
		{nil, "https://localhost.example.com", false},
		{nil, "https://127.0.0.1.example.com", false},
		{nil, "null", false},
		{nil, "http://%zz", false},
		{nil, "javascript://localhost", false},
		{nil, "file://localhost", false},
		{nil, "chrome-extension://localhost", false},
		{nil, "ftp://127.0.0.1", false},
		{nil, "//localhost", false},
		{nil, "http://ann@localhost", false},
		{nil, "http://localhost/game", false},
		{[]string{"https://Example.com:443/"}, "https://example.com", true},
		{[]string{"https://example.com"}, "http://example.com", false},
		{[]string{"https://example.com"}, "https://example.com:8443", false},
		{[]string{"https://example.com"}, "http://localhost", false},
		{[]string{"https://a.example", "http://[::1]:8080"}, "http://[::1]:8080", true},
		{[]string{"https://example.com"}, "", true},
	} {
		config := WebConfig{Origins: c.origins}
		require.NoError(t, config.Validate())
		require.Equal(t, c.allowed, newWeb(config, &traffic{}, nil).allowsOrigin(c.origin), "%q %q", c.origins, c.origin)
	}
	for _, wrong := range []string{"", "*", "null", "example.com", "ftp://example.com", "https://", "https://example.com/game", "https://ann@example.com", "https://example.com?x", "http://%zz"} {
		require.ErrorContains(t, WebConfig{Origins: []string{wrong}}.Validate(), "want https://HOST", wrong)
	}
	require.ErrorContains(t, WebConfig{Origins: make([]string, maxWebOrigins+1)}.Validate(), "at most 64")
}

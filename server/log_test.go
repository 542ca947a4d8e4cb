package server

import (
	"errors"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

// The audit trail is logged as a whole, other lines in samples.
func TestAuditTrailIsNotSampled(t *testing.T) {
	core, lines := observer.New(zap.InfoLevel)
	log := sampledLogger(zap.New(core))
	audit := auditLogger(log.With(zap.String("room", "lobby")))
	for range 1000 {
		audit.Info("joined")
		log.Info("connected")
	}
	require.Equal(t, 1000, lines.FilterMessage("joined").FilterField(zap.String("room", "lobby")).Len())
	require.Equal(t, logBurst+(1000-logBurst)/logEvery, lines.FilterMessage("connected").Len())
}

// Names, reasons and errors of clients are printable in every log, whatever its encoder.
func TestLogIsPrintable(t *testing.T) {
	const forged = "\x1b[2J\x07\n\u202e\u009b"
	core, lines := observer.New(zap.InfoLevel)
	log := sampledLogger(zap.New(core)).With(zap.String("name", forged))
	log.Debug("not logged")
	log.Info(forged, zap.String("why", forged), zap.Error(errors.New(forged)), zap.Int("n", 7), zap.ByteString("stack", []byte("a\nb")))
	require.Equal(t, 1, lines.Len())
	line := lines.All()[0]
	fields := line.ContextMap()
	for _, text := range []any{line.Message, fields["name"], fields["why"], fields["error"]} {
		require.Equal(t, `\u001b[2J\u0007\n\u202e\u009b`, text)
		for _, r := range text.(string) {
			require.True(t, unicode.IsPrint(r))
		}
	}
	require.EqualValues(t, 7, fields["n"])
	require.Equal(t, "a\nb", fields["stack"])
}

package client

import (
	"errors"
	"testing"
	"unicode"

	"github.com/quic-go/quic-go"
	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/replication/wire"
)

// Errors that quote the server are printable, wherever the text comes from.
func TestErrorsOfTheServerArePrintable(t *testing.T) {
	const forged = "\x1b]0;root\x07\nok\u202e\u009b"
	closed := &quic.ApplicationError{Remote: true, ErrorCode: quic.ApplicationErrorCode(wire.Kicked), ErrorMessage: forged}
	lost := &quic.TransportError{Remote: true, ErrorCode: quic.InternalError, ErrorMessage: forged}
	crypto := &quic.TransportError{Remote: true, ErrorCode: 0x100 + 42, ErrorMessage: forged}
	for _, err := range []error{
		explainClose(closed), explainClose(lost), explainDial(crypto), explainDial(lost),
		&Rejection{Code: wire.CommandRefused, Text: forged}, (&Rejection{Code: wire.CommandRefused, Text: forged}).Unwrap(),
	} {
		text := err.Error()
		require.NotContains(t, text, forged)
		for _, r := range text {
			require.True(t, unicode.IsPrint(r), "%q", text)
		}
	}
	var transport *quic.TransportError
	require.True(t, errors.As(explainClose(lost), &transport))
	require.True(t, errors.As(explainDial(crypto), &transport))
}

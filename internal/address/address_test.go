package address_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/address"
)

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		text         string
		listen, dial string // part of the error; empty: none
	}{
		{"127.0.0.1:4433", "", ""},
		{"[::1]:4433", "", ""},
		{"[fe80::1%eth0]:4433", "", ""},
		{"play.example.com:65535", "", ""},
		{":4433", "", ""},
		{"no..such..name:1", "", ""}, // only the resolver can tell
		{"127.0.0.1:0", "", "port 0 cannot be dialled"},
		{"", "want host:port", "want host:port"},
		{":", "want host:port", "want host:port"},
		{"127.0.0.1", "want host:port", "want host:port"},
		{"127.0.0.1:", "want host:port", "want host:port"},
		{"::1:4433", "want host:port", "want host:port"},
		{"[::1:4433", "want host:port", "want host:port"},
		{"udp://127.0.0.1:4433", "want host:port", "want host:port"},
		{"127.0.0.1:65536", `"65536" is no udp port`, `"65536" is no udp port`},
		{"127.0.0.1:99999", `"99999" is no udp port`, `"99999" is no udp port`},
		{"127.0.0.1:-1", `"-1" is no udp port`, `"-1" is no udp port`},
		{"127.0.0.1:game", `"game" is no udp port`, `"game" is no udp port`},
		{"127.0.0.1:44 33", `"44 33" is no udp port`, `"44 33" is no udp port`},
		{"play example:4433", `"play example" is no host`, `"play example" is no host`},
		{" 127.0.0.1:4433", `" 127.0.0.1" is no host`, `" 127.0.0.1" is no host`},
		{"play\x00:4433", `is no host`, `is no host`},
		{"example.com/play:4433", `"example.com/play" is no host`, `"example.com/play" is no host`},
	} {
		t.Run(c.text, func(t *testing.T) {
			for want, err := range map[*string]error{&c.listen: address.CheckListen("udp", c.text), &c.dial: address.CheckDial("udp", c.text)} {
				if *want == "" {
					require.NoError(t, err)
				} else {
					require.ErrorContains(t, err, *want)
				}
			}
		})
	}
	require.NoError(t, address.CheckListen("tcp", "127.0.0.1:http"), "a service has a name")
}

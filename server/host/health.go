package host

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"time"
)

const (
	// healthTimeout bounds the health command. The admin port answers probes within 2 s in a flood.
	healthTimeout = 3 * time.Second
	// maxHealthAnswer bounds the printed answer.
	maxHealthAnswer = 256
)

// healthCommand asks a server on this machine whether its world ticks, for supervisors that run a
// command, as Docker's HEALTHCHECK does.
type healthCommand struct {
	adminPort
	Ready bool `help:"Ask instead whether a client would be admitted."`
}

func (c *healthCommand) run(ctx context.Context, p *program) error {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	path := "/healthz"
	if c.Ready {
		path = "/readyz"
	}
	said, err := c.ask(ctx, http.MethodGet, path, "", maxHealthAnswer)
	if err != nil {
		return err
	}
	fmt.Fprintln(p.out, said)
	return nil
}

// localAddress returns an address that reaches a server which listens on hostport.
func localAddress(hostport string) (string, error) {
	host, port, err := net.SplitHostPort(hostport)
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return net.JoinHostPort(host, port), err
}

// pinned accepts one certificate alone, whatever its names: the server and this command read the
// same file.
func pinned(leaf []byte) *tls.Config {
	return &tls.Config{
		InsecureSkipVerify: true, // the pin is stricter
		VerifyConnection: func(s tls.ConnectionState) error {
			if !slices.Equal(s.PeerCertificates[0].Raw, leaf) {
				return errors.New("the server has another certificate than the file")
			}
			return nil
		},
	}
}

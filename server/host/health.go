package host

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/worldd/worldd/internal/printable"
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
	Admin     string `required:"" placeholder:"HOST:PORT" help:"The server's --admin."`
	AdminCert string `type:"path" placeholder:"FILE" help:"The server's --admin-cert, if it has one."`
	Ready     bool   `help:"Ask instead whether a client would be admitted."`
}

func (c *healthCommand) run(ctx context.Context, p *program) error {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	scheme, transport := "http", &http.Transport{DisableKeepAlives: true}
	if c.AdminCert != "" {
		own, err := readLeaf(c.AdminCert)
		if err != nil {
			return usageError("cannot read the admin certificate: %w", err)
		}
		scheme, transport.TLSClientConfig = "https", pinned(own)
	}
	path := "/healthz"
	if c.Ready {
		path = "/readyz"
	}
	address, err := localAddress(c.Admin)
	if err != nil {
		return usageError("--admin: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+"://"+address+path, nil)
	if err != nil {
		return usageError("--admin: %w", err)
	}
	answer, err := transport.RoundTrip(request)
	if err != nil {
		return fmt.Errorf("no server answers on %s: %w", c.Admin, err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxHealthAnswer))
	if err != nil {
		return err
	}
	said := printable.Text(strings.TrimSpace(string(text)))
	if answer.StatusCode != http.StatusOK {
		return errors.New(said)
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

package host

import (
	"errors"
	"fmt"

	"github.com/worldd/worldd/server"
)

// webFlags configure WebTransport and WebSocket.
type webFlags struct {
	Web       bool     `help:"Also serve browsers: by WebTransport on the address of --listen and, where a network blocks UDP, by WebSocket on the TCP port of the same number. With --cert pages dial its host name; otherwise they pin certificates that the server makes (GET /web on the admin address)."`
	WebUDP    bool     `name:"web-udp-only" help:"Leave the TCP port closed (needs --web)."`
	WebOrigin []string `placeholder:"ORIGIN" help:"Let pages of this origin connect, as https://example.com; may be repeated. Without, pages on loopback may (needs --web)."`
}

// checkFlags checks that each flag has the flags that it needs.
func (f *webFlags) checkFlags() error {
	if len(f.WebOrigin) > 0 && !f.Web { // otherwise pages could not connect, unnoticed
		return errors.New("--web-origin needs --web")
	}
	if f.WebUDP && !f.Web {
		return errors.New("--web-udp-only needs --web")
	}
	return nil
}

// webConfig returns nil without --web.
func (f *webFlags) webConfig() *server.WebConfig {
	if !f.Web {
		return nil
	}
	return &server.WebConfig{Origins: f.WebOrigin, NoWebSocket: f.WebUDP}
}

// writeWeb prints what a page needs to connect.
func writeWeb(p *program, c *server.WebConfig, s *server.Server) error {
	hashes, err := s.WebCertificates()
	if err != nil {
		return err
	}
	ports := "UDP and TCP port"
	if c.NoWebSocket {
		ports = "UDP port"
	}
	fmt.Fprintf(p.out, "%s: browsers on %s %d, path %s", p.Name, ports, s.Addr().Port, server.WebPath)
	if len(hashes) > 0 {
		fmt.Fprintf(p.out, ", certificate %s until it rotates", hashes[0])
	}
	fmt.Fprintln(p.out)
	return nil
}

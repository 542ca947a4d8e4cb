// Package address finds addresses that can never work, before anybody is asked: a
// mistake in a command line is told from a name that does not resolve today.
package address

import (
	"fmt"
	"net"
	"strings"
	"unicode"
)

// CheckListen returns what is wrong with text as an address to listen on: "host:port",
// where host may be empty, for all of the machine's, and port 0 is any free one. The
// network is "udp" or "tcp"; a port may be the name of one of its services.
func CheckListen(network, text string) error {
	_, err := parse(network, text)
	return err
}

// CheckDial returns what is wrong with text as an address to connect to: "host:port",
// where an empty host is this machine.
func CheckDial(network, text string) error {
	port, err := parse(network, text)
	if err == nil && port == 0 {
		err = fmt.Errorf("%q: nobody is at port 0: want the server's", text)
	}
	return err
}

func parse(network, text string) (port int, err error) {
	host, name, err := net.SplitHostPort(text)
	if err != nil || name == "" {
		return 0, fmt.Errorf("%q: want host:port", text)
	}
	if strings.ContainsFunc(host, impossible) {
		return 0, fmt.Errorf("%q: want host:port, and %q is no host", text, host)
	}
	if port, err = net.LookupPort(network, name); err != nil {
		return 0, fmt.Errorf("%q: want host:port, and %q is no %s port (at most 65535)", text, name, network)
	}
	return port, nil
}

// impossible reports whether neither names nor IP addresses contain r.
func impossible(r rune) bool { return unicode.IsSpace(r) || !unicode.IsGraphic(r) || r == '/' }

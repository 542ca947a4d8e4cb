// Package address finds network addresses that can never work, without resolving them. So a
// typing mistake is told apart from a name that does not resolve.
package address

import (
	"fmt"
	"net"
	"strings"
	"unicode"
)

// CheckListen returns an error if text is no address to listen on: "host:port". An empty host
// stands for all of the machine's addresses, port 0 for any free port. The network is "udp" or
// "tcp"; the port may be a service name.
func CheckListen(network, text string) error {
	_, err := parse(network, text)
	return err
}

// CheckDial returns an error if text is no address to connect to: "host:port". An empty host
// stands for this machine.
func CheckDial(network, text string) error {
	port, err := parse(network, text)
	if err == nil && port == 0 {
		err = fmt.Errorf("%q: port 0 cannot be dialled: want the server's port", text)
	}
	return err
}

func parse(network, text string) (port int, err error) {
	host, name, err := net.SplitHostPort(text)
	if err != nil || name == "" {
		return 0, fmt.Errorf("%q: want host:port", text)
	}
	if strings.ContainsFunc(host, impossible) {
		return 0, fmt.Errorf("%q: want host:port, but %q is no host", text, host)
	}
	if port, err = net.LookupPort(network, name); err != nil {
		return 0, fmt.Errorf("%q: want host:port, but %q is no %s port (at most 65535)", text, name, network)
	}
	return port, nil
}

// impossible reports whether r occurs in neither names nor IP addresses.
func impossible(r rune) bool { return unicode.IsSpace(r) || !unicode.IsGraphic(r) || r == '/' }

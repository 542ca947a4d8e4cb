//go:build linux

package main

import (
	"fmt"
	"strings"
)

// peer is a server to measure.
type peer struct {
	name   string
	hz     int // ticks a second
	tls    bool
	tcp    bool    // worldd without UDP
	bare   bool    // quic-go alone
	encode encoder // nil: worldd, or bare
	view   func() view
}

var peers = []peer{
	{name: "worldd", hz: updateHz},
	{name: "worldd-60", hz: 60},
	{name: "worldd-tcp", hz: updateHz, tcp: true},
	{name: "quic", hz: updateHz, bare: true},
	{name: "full", hz: updateHz, encode: encodeFull, view: func() view { return &fullView{} }},
	{name: "delta", hz: updateHz, encode: encodeDelta(false), view: func() view { return newDeltaView(false) }},
	{name: "delta-tls", hz: updateHz, tls: true, encode: encodeDelta(false), view: func() view { return newDeltaView(false) }},
	{name: "delta-q", hz: updateHz, tls: true, encode: encodeDelta(true), view: func() view { return newDeltaView(true) }},
}

// peersNamed returns the peers of a list of names with commas.
func peersNamed(list string) (found []peer, err error) {
	for name := range strings.SplitSeq(list, ",") {
		p, err := peerNamed(strings.TrimSpace(name))
		if err != nil {
			return nil, err
		}
		found = append(found, p)
	}
	return found, nil
}

func peerNamed(name string) (peer, error) {
	var names []string
	for _, p := range peers {
		if p.name == name {
			return p, nil
		}
		names = append(names, p.name)
	}
	return peer{}, fmt.Errorf("no peer %q: the peers are %s", name, strings.Join(names, ", "))
}

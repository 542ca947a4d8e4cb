package client

import (
	"math/rand/v2"
	"slices"
	"time"
)

const (
	// maxAddrs bounds Config.Addrs.
	maxAddrs = 32
	// addressPatience bounds the attempt to connect to one of several addresses, with the look-up of its name.
	addressPatience = 4 * time.Second
)

// addresses holds Config.Addr, and Config.Addrs in the order in which the client tries them.
type addresses struct {
	all []string
	at  int // of the present one, or of the last one before a redirection
}

func newAddresses(c Config) addresses {
	all := []string{c.Addr}
	for _, further := range c.Addrs {
		if !slices.Contains(all, further) {
			all = append(all, further)
		}
	}
	others, shuffle := all[1:], rand.Shuffle
	if c.Random != nil {
		shuffle = c.Random.Shuffle
	}
	if c.Random != nil || c.Simulation == nil {
		shuffle(len(others), func(i, j int) { others[i], others[j] = others[j], others[i] })
	}
	return addresses{all: all}
}

func (a *addresses) has(address string) bool { return slices.Contains(a.all, address) }

// after returns the address to try once the present one has failed: the next one, or the last one before a redirection.
func (a *addresses) after(present string) string {
	if a.has(present) {
		a.at = (slices.Index(a.all, present) + 1) % len(a.all)
	}
	return a.all[a.at]
}

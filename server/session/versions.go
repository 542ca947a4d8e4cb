package session

import (
	"errors"
	"fmt"

	"github.com/worldd/worldd/replication/wire"
)

// Versions say which version of the game a server runs, and which clients may join. A version is
// a text like 1.10.0 (wire.CompareVersions); empty is none. The newer side decides
// whether it accepts the older one: a server refuses clients before MinClient, and each client says
// which servers it accepts.
type Versions struct {
	Game      string // of the server's game; clients read it in Welcome.Version
	MinClient string // the oldest client that may join, by Config.Version of the client; empty: any
	// TooOld and TooNew are texts for the players of a client that is refused as older than
	// MinClient, or that accepts only a newer server. Defaults name both versions.
	TooOld, TooNew string
}

// Validate reports every error in v.
func (v Versions) Validate() error {
	errs := []error{wire.CheckVersion(v.Game), wire.CheckVersion(v.MinClient)}
	for _, text := range []string{v.TooOld, v.TooNew} {
		if len(text) > wire.MaxText {
			errs = append(errs, fmt.Errorf("a text of %d bytes for players, at most %d are allowed", len(text), wire.MaxText))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("server: Versions: %w", err)
	}
	return nil
}

// checkClient returns nil if the client of h may join, or else the refusal, and the version that
// would be accepted.
func (v *Versions) checkClient(h *wire.Hello) (refusal *wire.Error, want string) {
	switch {
	case v.MinClient != "" && wire.CompareVersions(h.Version, v.MinClient) < 0:
		text := v.TooOld
		if text == "" {
			text = fmt.Sprintf("your game is %s, and this server needs %s or newer: update the game", versionName(h.Version), v.MinClient)
		}
		return &wire.Error{Code: wire.ClientTooOld, Detail: text}, "version " + v.MinClient
	case h.MinServer != "" && wire.CompareVersions(v.Game, h.MinServer) < 0:
		text := v.TooNew
		if text == "" {
			text = fmt.Sprintf("this server is %s, and your game needs %s or newer: choose another server, or try again later", versionName(v.Game), h.MinServer)
		}
		return &wire.Error{Code: wire.ClientTooNew, Detail: text}, "server " + versionName(v.Game)
	}
	return nil, ""
}

func versionName(version string) string {
	if version == "" {
		return "of an unknown version"
	}
	return version
}

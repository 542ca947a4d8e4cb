package main

import (
	"bytes"
	"fmt"

	"github.com/worldd/worldd/internal/regularfile"
	"github.com/worldd/worldd/server/token"
)

// maxBanList bounds the --bans file: some hundred thousand users.
const maxBanList = 16 << 20

// readBans reads a ban list: one user per line, with surrounding spaces removed. Empty
// lines and lines that begin with # are ignored.
func readBans(path string) ([]string, error) {
	text, err := regularfile.Read(path, maxBanList)
	if err != nil {
		return nil, fmt.Errorf("cannot read the ban list: %w", err)
	}
	var users []string
	number := 0
	for line := range bytes.Lines(text) {
		number++
		user := bytes.TrimSpace(line)
		switch {
		case len(user) == 0 || user[0] == '#':
		case len(user) > token.MaxUser:
			return nil, fmt.Errorf("%s:%d: a user name of %d bytes, want at most %d, one user per line", path, number, len(user), token.MaxUser)
		default:
			users = append(users, string(user))
		}
	}
	return users, nil
}

// bannedUsers reads the list of --bans, if set.
func (c *serveCommand) bannedUsers() ([]string, error) {
	if c.Bans == "" {
		return nil, nil
	}
	return readBans(c.Bans)
}

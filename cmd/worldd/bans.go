package main

import (
	"bytes"
	"fmt"

	"github.com/worldd/worldd/internal/regularfile"
	"github.com/worldd/worldd/server/token"
)

// maxBanList bounds the file of --bans: some hundred thousand users.
const maxBanList = 16 << 20

// readBans reads the users of a ban list, one per line, without the spaces around them.
// Empty lines and lines that begin with # are comments.
func readBans(path string) ([]string, error) {
	text, err := regularfile.Read(path, maxBanList)
	if err != nil {
		return nil, fmt.Errorf("the ban list cannot be read: %w", err)
	}
	var users []string
	number := 0
	for line := range bytes.Lines(text) {
		number++
		user := bytes.TrimSpace(line)
		switch {
		case len(user) == 0 || user[0] == '#':
		case len(user) > token.MaxUser:
			return nil, fmt.Errorf("%s:%d: a user of %d bytes: want at most %d, one user per line", path, number, len(user), token.MaxUser)
		default:
			users = append(users, string(user))
		}
	}
	return users, nil
}

// bannedUsers reads the list of --bans; nil if there is none.
func (c *serveCommand) bannedUsers() ([]string, error) {
	if c.Bans == "" {
		return nil, nil
	}
	return readBans(c.Bans)
}

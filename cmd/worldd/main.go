// Command worldd is the dedicated server and its tools.
//
//	worldd serve --listen 127.0.0.1:4433 --world storm    host a world
//	worldd demo --bots 50 --duration 60s                  run a server and bots that check it
//	worldd loadtest --addr 127.0.0.1:4433 --insecure-dev  load a running server with bots
//	worldd check my-world.yaml                            report mistakes in a world file
//	worldd replay my.recording                            replay a recording and compare
//	worldd train my.recording --out my.tables             train coding tables
//	worldd inspect my.recording                           report the size of fields
//	worldd effect check|render|fmt|explain|hash FILE      mistakes in effects, pictures
//	worldd schema --lang json storm                       print the schema that clients receive
//	worldd watch 127.0.0.1:4433 --insecure-dev            show what a server sends, by name
//	worldd token new|issue                                create keys and users' tokens
//	worldd help world                                     print the reference of world files
//	worldd version
//
// Package server/host has all commands but effect: it makes such a program of any game. A
// world is an embedded one, "storm" or "calm", or a file. Flags may also be set in the
// environment, as WORLDD_LISTEN, WORLDD_WORLD and so on (empty ones are ignored), and some in
// the world file. Flags override the environment, which overrides the file, which overrides the
// defaults.
//
//	host.Main ──► Options ──► scenes.Load, Build ──► game ──► host.Instance
//
// On SIGHUP, serve reloads the limits of the world file, and the files that server/host
// reloads. SIGTERM and SIGINT stop it after notifying all clients.
//
// Exit status: 0 for success; 1 for failure, and for an invalid effect; 2 for a wrong command
// line or world file, in which case nothing was started. Success of demo means that every bot
// connected, none failed and no handle was confused.
package main

import (
	"strings"

	"github.com/worldd/worldd/internal/scenes"
	"github.com/worldd/worldd/internal/scenes/bots"
	"github.com/worldd/worldd/server/host"
)

func main() { host.Main(definition()) }

// definition describes the game of world files.
func definition() host.Definition {
	return host.Definition{
		Name: "worldd", About: "An authoritative world server.",
		Worlds: &host.Worlds{Default: "storm", Help: "World file, or name of an embedded world: storm, calm"},
		Commands: []any{&struct {
			Effect effectCommand `cmd:"" help:"Check and draw effects: for their authors."`
		}{}},
		Topics: map[string]string{"world": strings.ReplaceAll(scenes.Reference(), "```\n", "")}, // fences are for pages
		New:    newWorld,
		Bots:   bots.Player(),
	}
}

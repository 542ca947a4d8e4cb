package host

import (
	"cmp"
	"context"
	"encoding/json"
	"io"

	"github.com/worldd/worldd/internal/address"
	"github.com/worldd/worldd/internal/commandline"
	"github.com/worldd/worldd/internal/cstruct"
	"github.com/worldd/worldd/internal/printable"
	"github.com/worldd/worldd/replication/schema"
)

// schemaCommand prints the schema that clients of a world receive.
type schemaCommand struct {
	Of   string `arg:"" optional:"" default:"${world}" placeholder:"${schemaOf}" help:"${schemaHelp}"`
	Lang string `enum:"text,json,ts,c,cs,gd" default:"text" help:"text, as the protocol has it, json, ts: a module of types and accessors for @worldd/client, c: a header of structs for worldd.h, cs: the same for Unity, or gd: for Godot (${default})."`

	connectFlags
}

// run prints the schema of a world that it builds, or of a running server.
func (c *schemaCommand) run(ctx context.Context, p *program) error {
	of := func(name string) (*schema.Schema, error) { return p.schemaOfWorld(name, c.Room) }
	if address.CheckDial("udp", c.Of) == nil {
		of = func(addr string) (*schema.Schema, error) { return c.schemaOfServer(ctx, addr, p) }
	}
	s, err := of(c.Of)
	if err != nil {
		return err
	}
	return printSchema(p.out, s, c.Lang, p.Name)
}

func (p *program) schemaOfWorld(name, room string) (*schema.Schema, error) {
	if p.Worlds == nil && name != "" {
		return nil, usageError("%q is no HOST:PORT; without an argument, schema prints the schema of this game", name)
	}
	o := Options{World: name}
	if p.Rooms != nil {
		var err error
		if o.Room, err = p.anyRoom(cmp.Or(room, p.Rooms.Default)); err != nil {
			return nil, err
		}
	}
	g, err := p.buildInstance(o)
	if err != nil {
		return nil, err
	}
	return g.CompleteSchema()
}

func (c *schemaCommand) schemaOfServer(ctx context.Context, addr string, p *program) (*schema.Schema, error) {
	joined, err := c.dialServer(ctx, p, addr, p.Name+" schema", nil, nil)
	if err != nil {
		return nil, err
	}
	return joined.Replica().Schema(), joined.Close()
}

// printSchema writes s, which may be a foreign server's. On a terminal it is made printable.
func printSchema(out io.Writer, s *schema.Schema, lang, program string) error {
	text, err := writeSchema(s, lang, program)
	if err != nil {
		return err
	}
	if commandline.IsTerminal(out) {
		text = printable.Lines(text)
	}
	_, err = io.WriteString(out, text)
	return err
}

func writeSchema(s *schema.Schema, lang, program string) (string, error) {
	switch lang {
	case "text":
		return s.Text(), nil
	case "c":
		return cstruct.Header(s, program, program+" schema --lang c")
	case "cs":
		return cstruct.CSharp(s, program, program+" schema --lang cs")
	case "gd":
		return cstruct.GDScript(s, program+" schema --lang gd")
	case "ts":
		return s.TypeScript(program + " schema --lang ts"), nil
	}
	text, err := json.MarshalIndent(s, "", "  ")
	return string(text) + "\n", err
}

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/worldd/worldd/internal/address"
	"github.com/worldd/worldd/replication/schema"
)

// schemaCommand prints the schema that clients of a world receive.
type schemaCommand struct {
	Of   string `arg:"" optional:"" default:"storm" placeholder:"FILE|HOST:PORT" help:"World file, name of an embedded world (${default}), or address of a running server, which is joined for a moment."`
	Lang string `enum:"text,json,ts" default:"text" help:"text, as the protocol has it, json, or ts: a module of types and accessors for @worldd/client (${default})."`

	connectFlags
}

// Run prints the schema of a world that it builds, or of a running server.
func (c *schemaCommand) Run(ctx context.Context, std streams) error {
	of := schemaOfWorld
	if address.CheckDial("udp", c.Of) == nil {
		of = func(addr string) (*schema.Schema, error) { return c.schemaOfServer(ctx, addr) }
	}
	s, err := of(c.Of)
	if err != nil {
		return err
	}
	return printSchema(std.out, s, c.Lang)
}

func schemaOfWorld(name string) (*schema.Schema, error) {
	file, err := loadWorld(name)
	if err != nil {
		return nil, err
	}
	_, config, err := host(file)
	if err != nil {
		return nil, err
	}
	return config.CompleteSchema()
}

func (c *schemaCommand) schemaOfServer(ctx context.Context, addr string) (*schema.Schema, error) {
	joined, err := c.dial(ctx, addr, "worldd schema", nil)
	if err != nil {
		return nil, err
	}
	return joined.Replica().Schema(), joined.Close()
}

func printSchema(out io.Writer, s *schema.Schema, lang string) error {
	switch lang {
	case "text":
		_, err := io.WriteString(out, s.Text())
		return err
	case "ts":
		_, err := io.WriteString(out, s.TypeScript())
		return err
	}
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%s\n", text)
	return err
}

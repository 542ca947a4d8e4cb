package commandline

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"

	"github.com/alecthomas/kong"

	"github.com/worldd/worldd/internal/regularfile"
	"github.com/worldd/worldd/internal/spelling"
)

// ConfigFile is a flag that names a JSON file with values of the command's other flags:
//
//	{"listen": "0.0.0.0:4433", "image": "world.image", "token-keys": ["a.pub", "b.pub"]}
//
// The command line and the environment override the file.
type ConfigFile string

// maxConfigBytes bounds a ConfigFile: all flags with long paths take a few kilobytes.
const maxConfigBytes = 64 << 10

// BeforeResolve is called by kong if the flag is set.
func (ConfigFile) BeforeResolve(ctx *kong.Context, trace *kong.Path) error {
	path, _ := ctx.FlagValue(trace.Flag).(ConfigFile)
	if path == "" {
		return nil
	}
	text, err := regularfile.Read(string(path), maxConfigBytes)
	if err != nil {
		return fmt.Errorf("cannot read --config: %w", err)
	}
	c := configReader{path: string(path), text: text, command: ctx.Model.Name, values: map[string]any{}}
	if selected := ctx.Selected(); selected != nil {
		c.command = selected.Name
	}
	for _, f := range ctx.Flags() {
		if f != trace.Flag && f.Name != "help" {
			c.flags, c.names = append(c.flags, f), append(c.names, f.Name)
		}
	}
	if err := c.read(); err != nil {
		return err
	}
	ctx.AddResolver(kong.ResolverFunc(func(_ *kong.Context, _ *kong.Path, f *kong.Flag) (any, error) {
		if slices.ContainsFunc(f.Envs, isSet) {
			return nil, nil
		}
		return c.values[f.Name], nil
	}))
	return nil
}

func isSet(variable string) bool {
	_, set := os.LookupEnv(variable)
	return set
}

// configReader reads the values of a command's flags from JSON.
type configReader struct {
	path    string
	text    []byte
	command string
	flags   []*kong.Flag
	names   []string // of flags
	values  map[string]any
}

// read fills values. Its errors name the file, line and column.
func (c *configReader) read() error {
	object := json.NewDecoder(bytes.NewReader(c.text))
	object.UseNumber()
	if t, err := object.Token(); err != nil || t != json.Delim('{') {
		return c.wrong(0, cmp.Or(atEnd(err), errors.New(`want an object, as {"listen": "0.0.0.0:4433"}`)))
	}
	for object.More() {
		at := c.next(object)
		key, err := object.Token()
		if err != nil {
			return c.wrong(at, atEnd(err))
		}
		var value any
		if err := object.Decode(&value); err != nil {
			return c.wrong(at, atEnd(err))
		}
		if err := c.set(key.(string), value); err != nil {
			return c.wrong(at, err)
		}
	}
	at := c.next(object)
	if _, err := object.Token(); err != nil {
		return c.wrong(at, atEnd(err))
	}
	at = c.next(object)
	if _, err := object.Token(); !errors.Is(err, io.EOF) {
		return c.wrong(at, errors.New("want nothing after the object"))
	}
	return nil
}

// set checks a value as the command line would.
func (c *configReader) set(key string, value any) error {
	i := slices.Index(c.names, key)
	if i < 0 {
		if near := spelling.Nearest(key, c.names); near != "" {
			return fmt.Errorf("unknown key %q; did you mean %q?", key, near)
		}
		return fmt.Errorf("unknown key %q: want a flag of %s without its hyphens, as %q", key, c.command, c.names[0])
	}
	if _, twice := c.values[key]; twice {
		return fmt.Errorf("the key %q is there twice", key)
	}
	f := c.flags[i]
	switch v := value.(type) {
	case json.Number:
		value = v.String()
	case []any:
		if !f.IsSlice() {
			return fmt.Errorf("%q is a list, want one value", key)
		}
		if slices.ContainsFunc(v, func(of any) bool { _, text := of.(string); return !text }) {
			return fmt.Errorf("%q: want a list of strings", key)
		}
	case string, bool:
	default:
		return fmt.Errorf("%q: want a string, a number, true, false or a list", key)
	}
	target := reflect.New(f.Target.Type()).Elem()
	if target.Kind() == reflect.Pointer {
		target.Set(reflect.New(target.Type().Elem()))
	}
	if err := f.Mapper.Decode(&kong.DecodeContext{Value: f.Value, Scan: kong.Scan().PushTyped(value, kong.FlagValueToken)}, target); err != nil {
		return fmt.Errorf("%q: %w", key, err)
	}
	c.values[key] = value
	return nil
}

// next returns the offset of the next token.
func (c *configReader) next(object *json.Decoder) int {
	at := int(object.InputOffset())
	rest := c.text[at:]
	return at + len(rest) - len(bytes.TrimLeft(rest, " \t\r\n,"))
}

// wrong adds the position of a mistake to err.
func (c *configReader) wrong(offset int, err error) error {
	before := c.text[:offset]
	line := bytes.Count(before, []byte("\n")) + 1
	column := len(before) - bytes.LastIndexByte(before, '\n')
	return fmt.Errorf("%s:%d:%d: %w", c.path, line, column, err)
}

// atEnd returns a syntax error, with a clear text if the file ends within the object.
func atEnd(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the file ends within the object")
	}
	return err
}

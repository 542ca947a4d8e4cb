// Package vectors reads and writes conformance vectors: the bytes that a client receives,
// and the state that must result.
//
// A file holds one JSON value per line. A line with a name begins a case and a new
// session; the lines after it are its steps.
// replication/wire/testdata/vectors/README.md describes the format for clients in other
// languages. Player runs the cases on this module's client.
package vectors

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/replication/schema"
)

// Schemas returns the schemas of the cases that no simulation declares.
func Schemas() (all []*schema.Schema, err error) {
	for _, define := range []func() (*schema.Schema, error){
		TalkSchema, TextsSchema, HeavySchema, ProvisionalSchema,
		func() (*schema.Schema, error) { return BodiesSchema(BodiesHz) },
		func() (*schema.Schema, error) { return BodiesSchema(FastBodiesHz) },
		VaultSchema, RidingBodiesSchema,
	} {
		s, err := define()
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// Case is one session.
type Case struct {
	Name       string        `json:"case"`
	About      string        `json:"about"`
	Protocol   int           `json:"protocol"`
	Schema     string        `json:"schema,omitempty"` // schema.Schema.Text; empty in a file if the previous case has the same
	SchemaHash string        `json:"schema_hash"`
	Simulate   bool          `json:"simulate,omitempty"` // the client simulates
	PlainRows  bool          `json:"plain,omitempty"`    // the client has asked for plain rows
	Handles    []bulk.Handle `json:"handles"`            // handles whose verdicts every step reports
	Steps      []Step        `json:"-"`
}

// Step is one arrival, and the client's expected state after it.
type Step struct {
	Stream      []byte       `json:"stream,omitempty"`      // bytes of the reliable stream
	Datagram    []byte       `json:"datagram,omitempty"`    // one datagram
	Lost        bool         `json:"lost,omitempty"`        // the connection is lost, and the client opens another
	Provisional *Provisional `json:"provisional,omitempty"` // the client names provisional handles
	Send        *Send        `json:"send,omitempty"`        // the client sends a typed message
	Expect      Expect       `json:"expect"`
}

// Expect is a client's state after a step. Verdicts, Entities and Exact list changes since
// the previous step.
type Expect struct {
	Outcome   string                 `json:"outcome,omitempty"` // outcome of a datagram
	Error     string                 `json:"error,omitempty"`   // name of the code; an error on the stream ends the session
	Hello     *Hello                 `json:"hello,omitempty"`   // Hello of the new connection
	Structure uint32                 `json:"structure"`
	Newest    uint32                 `json:"newest"`
	Mask      string                 `json:"mask"`
	Faults    uint64                 `json:"faults"`
	Verdicts  map[bulk.Handle]string `json:"verdicts,omitempty"`
	Entities  []Entity               `json:"entities,omitempty"` // ascending by handle
	Events    []Event                `json:"events,omitempty"`   // delivered in the step, in order
	Results   []Result               `json:"results,omitempty"`  // results of commands that a Send sent
	Sent      []byte                 `json:"sent,omitempty"`     // encoded arguments or input of a Send
	Arrived   int                    `json:"arrived,omitempty"`  // Arrived messages that the client sends
	Exact     []Exact                `json:"exact,omitempty"`    // ascending by handle
	Audits    uint64                 `json:"audits,omitempty"`   // audits checked so far; all agreed
}

// Exact is the state of an exact entity's body after a tick: the bits of position and
// velocity, 1 for awake or 0 for asleep, and the rest timer.
type Exact struct {
	Handle bulk.Handle `json:"handle"`
	Tick   uint32      `json:"tick"`
	State  [8]uint32   `json:"state"`
}

// Hello names the session that a client asks to resume; it is empty without a secret.
type Hello struct {
	Session   uint64 `json:"session"`
	Secret    []byte `json:"secret"`
	Structure uint32 `json:"structure"` // number of the newest applied record
}

// Entity is one replica.
type Entity struct {
	Handle     bulk.Handle `json:"handle"`
	Kind       uint32      `json:"kind"`
	Tick       uint32      `json:"tick"`
	Components uint32      `json:"components"`
	Owned      bool        `json:"owned,omitempty"`
	Values     []uint32    `json:"words"`
	Texts      [][]byte    `json:"texts,omitempty"`      // by field number; empty if not sent
	Teleported uint32      `json:"teleported,omitempty"` // tick of the teleport of which the newest state tells
}

// Append appends the text of a file with the cases.
func Append(b []byte, cases []Case) ([]byte, error) {
	var lines []any
	for i := range cases {
		c := cases[i]
		if i > 0 && c.Schema == cases[i-1].Schema {
			c.Schema = ""
		}
		lines = append(lines, c)
		for j := range c.Steps {
			lines = append(lines, &c.Steps[j])
		}
	}
	for _, line := range lines {
		text, err := json.Marshal(line)
		if err != nil {
			return nil, err
		}
		b = append(append(b, text...), '\n')
	}
	return b, nil
}

// SessionFiles returns the files of a folder of vectors that hold sessions. The others have forms of
// their own, but for reload.jsonl: the Go client does not resume the session of an earlier process.
func SessionFiles(dir string) ([]string, error) {
	others := []string{"rows.jsonl", "exact.jsonl", "schemas.jsonl", "binding.jsonl", "versions.jsonl", "rooms.jsonl", "reload.jsonl"}
	files, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	return slices.DeleteFunc(files, func(file string) bool { return slices.Contains(others, filepath.Base(file)) }), err
}

// Read reads all cases of a file.
func Read(r io.Reader) ([]Case, error) {
	var cases []Case
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<24)
	for n := 1; lines.Scan(); n++ {
		if bytes.HasPrefix(lines.Bytes(), []byte(`{"case":`)) {
			cases = append(cases, Case{})
			if err := decodeStrictly(lines.Bytes(), &cases[len(cases)-1]); err != nil {
				return nil, fmt.Errorf("vectors: line %d: %w", n, err)
			}
			if last := len(cases) - 1; last > 0 && cases[last].Schema == "" {
				cases[last].Schema = cases[last-1].Schema
			}
			continue
		}
		if len(cases) == 0 {
			return nil, fmt.Errorf("vectors: line %d: step before the first case", n)
		}
		c := &cases[len(cases)-1]
		c.Steps = append(c.Steps, Step{})
		if err := decodeStrictly(lines.Bytes(), &c.Steps[len(c.Steps)-1]); err != nil {
			return nil, fmt.Errorf("vectors: line %d: %w", n, err)
		}
	}
	return cases, lines.Err()
}

func decodeStrictly(line []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	return d.Decode(into)
}

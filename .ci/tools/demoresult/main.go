// Command demoresult reads the output of `worldd demo --json` and fails unless its last
// line is a JSON object that reports confusions, all 0.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

func main() {
	if err := check(os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, "demoresult:", err)
		os.Exit(1)
	}
}

func check(r io.Reader) error {
	var last string
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		if text := strings.TrimSpace(lines.Text()); text != "" {
			last = text
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	var result map[string]any
	if err := json.Unmarshal([]byte(last), &result); err != nil {
		return fmt.Errorf("the last line is not a JSON object: %w: %q", err, last)
	}
	counts := confusions(result, nil)
	if len(counts) == 0 {
		return errors.New("the result reports no confusions field")
	}
	for _, n := range counts {
		if n != 0.0 {
			return fmt.Errorf("confusions: %v, want 0", n)
		}
	}
	return nil
}

// confusions appends the values of the key confusions at any depth: each bot and the total may
// have one.
func confusions(v any, found []any) []any {
	switch v := v.(type) {
	case map[string]any:
		for key, inner := range v {
			if strings.EqualFold(key, "confusions") {
				found = append(found, inner)
			}
			found = confusions(inner, found)
		}
	case []any:
		for _, inner := range v {
			found = confusions(inner, found)
		}
	}
	return found
}

// Package fieldtag reads tags of struct fields, and finds those that reflect would ignore.
package fieldtag

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/worldd/worldd/internal/spelling"
)

// A Key is the key of a tag that a package reads.
type Key struct {
	Name string
	// IsValue reports whether a text could be a value of this key. A similar key may belong to
	// another package: it counts as misspelled only with such a value.
	IsValue func(text string) bool
}

// Was is the key of the former names of a field: was:"A,B".
var Was = Key{"was", func(text string) bool {
	r, _ := utf8.DecodeRuneInString(text)
	return unicode.IsUpper(r) && FormerNames(text) != nil
}}

// FormerNames returns the names in a value of Was, or nil unless all are identifiers.
func FormerNames(value string) []string {
	names := strings.Split(value, ",")
	for _, name := range names {
		for i, r := range name {
			if r != '_' && !unicode.IsLetter(r) && (i == 0 || !unicode.IsDigit(r)) {
				return nil
			}
		}
		if name == "" {
			return nil
		}
	}
	return names
}

// Lookup returns the value of k in tag. The error says how tag was meant to have one, or another
// one, and does not: in a form that Go cannot read, under a misspelled key, or twice.
func (k Key) Lookup(tag reflect.StructTag) (value string, given bool, err error) {
	for rest := strings.TrimLeft(string(tag), " "); rest != ""; rest = strings.TrimLeft(rest, " ") {
		key, after, _ := strings.Cut(rest, ":")
		quoted, fault := strconv.QuotedPrefix(after)
		if fault != nil || quoted[0] != '"' || strings.ContainsAny(key, " ,;\"") {
			if k.isMentioned(rest) {
				return "", false, fmt.Errorf("tag `%s`: Go cannot read it: want %s:\"...\", without a space and in double quotes", tag, k.Name)
			}
			return value, given, nil
		}
		rest = after[len(quoted):]
		text, _ := strconv.Unquote(quoted)
		switch {
		case key == k.Name && given:
			return "", false, fmt.Errorf("tag `%s`: the key %s is there twice: want one", tag, key)
		case key == k.Name:
			value, given = text, true
		case strings.EqualFold(key, k.Name) || k.isLike(strings.ToLower(key)) && k.IsValue(text):
			return "", false, fmt.Errorf("tag `%s`: the key %q is not read: want %s", tag, key, k.Name)
		}
	}
	return value, given, nil
}

// isMentioned reports whether a text that is no tag contains k as a key.
func (k Key) isMentioned(text string) bool {
	lower := strings.ToLower(text)
	for at := 0; ; at += len(k.Name) {
		i := strings.Index(lower[at:], k.Name)
		if i < 0 {
			return false
		}
		at += i
		before, _ := utf8.DecodeLastRuneInString(lower[:at])
		if unicode.IsLetter(before) || unicode.IsDigit(before) || before == '_' {
			continue
		}
		after := strings.TrimLeft(lower[at+len(k.Name):], " ")
		if at == 0 && after != lower[len(k.Name):] || strings.IndexAny(after, ":=\"'`") == 0 {
			return true
		}
	}
}

// isLike reports whether key differs from k by one character or by the order of characters.
func (k Key) isLike(key string) bool {
	own, other := []byte(k.Name), []byte(key)
	slices.Sort(own)
	slices.Sort(other)
	return string(own) == string(other) || spelling.Nearest(k.Name, []string{key}) != ""
}

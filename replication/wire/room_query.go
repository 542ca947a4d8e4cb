package wire

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// RoomQuery asks for any room of a kind that has these attributes. Its text is KIND?KEY=VALUE&KEY=VALUE, like
// "match?map=dunes&mode=ranked".
type RoomQuery struct {
	// Kind is the kind of the room; empty in a list of rooms: any.
	Kind string
	// Attributes are the values that the room must have: see CheckAttributes.
	Attributes map[string]string
}

// IsRoomQuery reports whether the text of Hello.Room is a query, not a room's name.
func IsRoomQuery(text string) bool { return strings.Contains(text, "?") }

// ParseRoomQuery parses the text of a query. It does not check the kind.
func ParseRoomQuery(text string) (q RoomQuery, err error) {
	kind, attributes, _ := strings.Cut(text, "?")
	q = RoomQuery{Kind: kind}
	if len(text) > MaxRoomQuery {
		return q, bad("a query of %d bytes for a room, at most %d are allowed", len(text), MaxRoomQuery)
	}
	q.Attributes, err = ParseAttributes(attributes)
	return q, err
}

// String returns the text of q, with its keys in order.
func (q RoomQuery) String() string { return q.Kind + "?" + AttributesText(q.Attributes) }

// Matches reports whether a room with these attributes suits q, if its kind does.
func (q RoomQuery) Matches(attributes map[string]string) bool {
	for key, value := range q.Attributes {
		if attributes[key] != value {
			return false
		}
	}
	return true
}

// AttributesText returns attributes as KEY=VALUE&KEY=VALUE, with its keys in order.
func AttributesText(attributes map[string]string) string {
	var b strings.Builder
	for i, key := range slices.Sorted(maps.Keys(attributes)) {
		if i > 0 {
			b.WriteByte('&')
		}
		b.WriteString(key + "=" + attributes[key])
	}
	return b.String()
}

// ParseAttributes parses KEY=VALUE&KEY=VALUE. Keys may be in any order, each once.
func ParseAttributes(text string) (map[string]string, error) {
	if text == "" {
		return nil, nil
	}
	if len(text) > MaxAttributes {
		return nil, bad("attributes of %d bytes, at most %d are allowed", len(text), MaxAttributes)
	}
	attributes := map[string]string{}
	for part := range strings.SplitSeq(text, "&") {
		key, value, _ := strings.Cut(part, "=")
		if _, twice := attributes[key]; twice {
			return nil, bad("attribute %.40q is given twice", key)
		}
		attributes[key] = value
	}
	if err := CheckAttributes(attributes); err != nil {
		return nil, bad("%v", err)
	}
	return attributes, nil
}

// CheckAttributes checks attributes of a room: at most MaxAttributeCount, and MaxAttributes bytes of text. A key has 1 to
// MaxAttributeKey lower-case letters, digits, hyphens and underscores. A value has 1 to MaxAttributeValue bytes of
// UTF-8 without & and control characters.
func CheckAttributes(attributes map[string]string) error {
	if n := len(attributes); n > MaxAttributeCount {
		return fmt.Errorf("%d attributes, at most %d are allowed", n, MaxAttributeCount)
	}
	for _, key := range slices.Sorted(maps.Keys(attributes)) {
		value := attributes[key]
		if key == "" || len(key) > MaxAttributeKey || strings.ContainsFunc(key, isNotInKey) {
			return fmt.Errorf("attribute %.40q: want a key of 1 to %d lower-case letters, digits, - and _", key, MaxAttributeKey)
		}
		if value == "" || len(value) > MaxAttributeValue || !utf8.ValidString(value) || strings.ContainsFunc(value, isNotInValue) {
			return fmt.Errorf("attribute %s is %.60q: want 1 to %d bytes of UTF-8 without & and control characters", key, value, MaxAttributeValue)
		}
	}
	if n := len(AttributesText(attributes)); n > MaxAttributes {
		return fmt.Errorf("attributes of %d bytes, at most %d are allowed", n, MaxAttributes)
	}
	return nil
}

func isNotInKey(r rune) bool {
	return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '_')
}

func isNotInValue(r rune) bool { return r == '&' || unicode.IsControl(r) }

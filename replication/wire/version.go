package wire

import (
	"cmp"
	"fmt"
	"strings"
)

// Versions of games in Hello and Welcome are texts like "1.10.0" or "v2.3-rc1": 1 to 4 numbers of
// at most 9 digits with dots between them, after an optional v. A suffix after - or + is for
// people. A missing number is 0, and the empty text is no version.

const (
	versionNumbers = 4
	versionDigits  = 9
)

// CheckVersion returns an error if text is neither empty nor a version.
func CheckVersion(text string) error {
	if _, ok := versionOf(text); text != "" && !ok {
		return fmt.Errorf("version %.64q: want 1 to %d numbers of at most %d digits like 1.10.0, then optionally - or + and letters, digits, dots, at most %d bytes", text, versionNumbers, versionDigits, MaxVersion)
	}
	return nil
}

// CompareVersions returns -1 if version a is before b, 1 if it is after b, and 0 if neither is. A
// text that is no version is before all versions.
func CompareVersions(a, b string) int {
	x, isVersion := versionOf(a)
	y, other := versionOf(b)
	switch {
	case !isVersion && !other:
		return 0
	case !isVersion:
		return -1
	case !other:
		return 1
	}
	for i := range x {
		if x[i] != y[i] {
			return cmp.Compare(x[i], y[i])
		}
	}
	return 0
}

// versionOf returns the numbers of a version.
func versionOf(text string) (numbers [versionNumbers]uint32, ok bool) {
	if len(text) > MaxVersion {
		return numbers, false
	}
	body := strings.TrimPrefix(text, "v")
	if end := strings.IndexAny(body, "-+"); end >= 0 {
		for _, c := range []byte(body[end+1:]) {
			if !isSuffix(c) {
				return numbers, false
			}
		}
		body = body[:end]
	}
	n := 0
	for part := range strings.SplitSeq(body, ".") {
		if n == versionNumbers || part == "" || len(part) > versionDigits {
			return numbers, false
		}
		for _, c := range []byte(part) {
			if c < '0' || c > '9' {
				return numbers, false
			}
			numbers[n] = 10*numbers[n] + uint32(c-'0')
		}
		n++
	}
	return numbers, true
}

// isSuffix reports whether c may follow a version's - or +.
func isSuffix(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '.' || c == '-' || c == '+'
}

package field

import (
	"embed"
	"strings"
)

// Effects that come with the package, one a file: to be used as they are, with
// other parameters, or to begin from.
//
//go:embed effects/*.field
var shipped embed.FS

const shippedSuffix = ".field"

// Shipped returns the text of an effect that comes with the package, or false.
func Shipped(name string) (text string, ok bool) {
	b, err := shipped.ReadFile("effects/" + name + shippedSuffix)
	return string(b), err == nil
}

// ShippedNames lists the shipped effects, sorted.
func ShippedNames() (names []string) {
	entries, _ := shipped.ReadDir("effects") // embedded: cannot fail
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), shippedSuffix))
	}
	return names
}

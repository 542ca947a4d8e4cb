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

// Shipped gives the text of an effect that comes with the package; false if there
// is none of the name.
func Shipped(name string) (text string, ok bool) {
	b, err := shipped.ReadFile("effects/" + name + shippedSuffix)
	return string(b), err == nil
}

// ShippedNames lists the effects that come with the package, in order.
func ShippedNames() (names []string) {
	entries, _ := shipped.ReadDir("effects") // it is in the binary
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), shippedSuffix))
	}
	return names
}

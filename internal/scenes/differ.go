package scenes

import (
	"reflect"
	"strings"
)

// Differ names the keys of the file, as it writes them, that other has other values of.
func (f *File) Differ(other *File) []string {
	var keys []string
	a, b := reflect.ValueOf(f).Elem(), reflect.ValueOf(other).Elem()
	for i := range a.NumField() {
		if key, ok := a.Type().Field(i).Tag.Lookup("yaml"); ok && !reflect.DeepEqual(a.Field(i).Interface(), b.Field(i).Interface()) {
			key, _, _ = strings.Cut(key, ",")
			keys = append(keys, key)
		}
	}
	return keys
}

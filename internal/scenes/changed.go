package scenes

import (
	"reflect"
	"strings"
)

// ChangedKeys returns the file's top-level keys whose values differ in next.
func (f *File) ChangedKeys(next *File) []string {
	var keys []string
	a, b := reflect.ValueOf(f).Elem(), reflect.ValueOf(next).Elem()
	for i := range a.NumField() {
		if key, ok := a.Type().Field(i).Tag.Lookup("yaml"); ok && !reflect.DeepEqual(a.Field(i).Interface(), b.Field(i).Interface()) {
			key, _, _ = strings.Cut(key, ",")
			keys = append(keys, key)
		}
	}
	return keys
}
